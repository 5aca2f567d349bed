import express from 'express';
import session from 'express-session';
import * as client from 'openid-client-6';
import { homePage } from './home-page.mjs';

const { CLIENT_ID, CLIENT_SECRET, ISSUER, PORT } = process.env;
const origin = `http://localhost:${PORT}`;

const configuration = await client.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  CLIENT_SECRET,
  undefined,
  // Without this option, the library requires https.
  { execute: [client.allowInsecureRequests] },
);

const app = express();
app.use(session({ secret: 'a secret', resave: false, saveUninitialized: false }));
app.get('/login', async (request, response) => {
  const verifier = client.randomPKCECodeVerifier();
  request.session.verifier = verifier;
  const parameters = {
    redirect_uri: `${origin}/cb`,
    scope: 'openid email profile',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  if (!configuration.serverMetadata().supportsPKCE()) {
    parameters.state = client.randomState();
    request.session.state = parameters.state;
  }
  response.redirect(client.buildAuthorizationUrl(configuration, parameters).href);
});
app.get('/cb', async (request, response) => {
  const tokens = await client.authorizationCodeGrant(
    configuration,
    new URL(request.originalUrl, origin),
    { pkceCodeVerifier: request.session.verifier, expectedState: request.session.state },
  );
  request.session.user = tokens.claims();
  request.session.idToken = tokens.id_token;
  response.redirect('/');
});
app.get('/logout', (request, response) => {
  const address = client.buildEndSessionUrl(configuration, {
    post_logout_redirect_uri: `${origin}/`,
    id_token_hint: request.session.idToken,
  });
  request.session.destroy(() => response.redirect(address.href));
});
app.get('/', (request, response) => response.send(homePage(request.session.user)));
app.listen(PORT, () => process.stdout.write('listening\n'));
