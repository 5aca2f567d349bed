import express from 'express';
import session from 'express-session';
import { generators, Issuer } from 'openid-client-5';
import { homePage } from './home-page.mjs';

const { CLIENT_ID, CLIENT_SECRET, ISSUER, PORT } = process.env;
const redirectUri = `http://localhost:${PORT}/cb`;

const issuer = await Issuer.discover(ISSUER);
const client = new issuer.Client({
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
  redirect_uris: [redirectUri],
  post_logout_redirect_uris: [`http://localhost:${PORT}/`],
  response_types: ['code'],
});

const app = express();
app.use(session({ secret: 'a secret', resave: false, saveUninitialized: false }));
app.get('/login', (request, response) => {
  const verifier = generators.codeVerifier();
  request.session.verifier = verifier;
  response.redirect(
    client.authorizationUrl({
      scope: 'openid email profile',
      code_challenge: generators.codeChallenge(verifier),
      code_challenge_method: 'S256',
    }),
  );
});
app.get('/cb', async (request, response) => {
  const params = client.callbackParams(request);
  const tokens = await client.callback(redirectUri, params, {
    code_verifier: request.session.verifier,
  });
  request.session.user = tokens.claims();
  request.session.idToken = tokens.id_token;
  response.redirect('/');
});
app.get('/logout', (request, response) => {
  const address = client.endSessionUrl({ id_token_hint: request.session.idToken });
  request.session.destroy(() => response.redirect(address));
});
app.get('/', (request, response) => response.send(homePage(request.session.user)));
app.listen(PORT, () => process.stdout.write('listening\n'));
