import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import express from 'express';
import { auth } from 'express-openid-connect';
import { homePage } from './home-page.mjs';

const { CERTIFICATE_FILE, CLIENT_ID, ISSUER, KEY_FILE, PORT } = process.env;

const app = express();
app.use(
  auth({
    issuerBaseURL: ISSUER,
    baseURL: `https://127.0.0.1:${PORT}`,
    clientID: CLIENT_ID,
    secret: 'a secret of the application with 32 characters',
    authRequired: false,
    idpLogout: true,
  }),
);
app.get('/', (request, response) => response.send(homePage(request.oidc.user)));
createServer({ cert: readFileSync(CERTIFICATE_FILE), key: readFileSync(KEY_FILE) }, app).listen(
  PORT,
  () => process.stdout.write('listening\n'),
);
