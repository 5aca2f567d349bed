// A web application. Users sign in with Gatehouse and see the devices that they may read.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import express from 'express';
import openidConnect from 'express-openid-connect';

const {
  AUTHORIZATION_SERVER_URL = 'http://localhost:9000',
  GATEWAY_URL = 'http://localhost:8844',
  CLIENT_ID = 'express-web-application',
  SECURE_KEY_FILE = 'secure-key.txt',
  PORT = '3000',
  BASE_URL = `http://localhost:${PORT}`,
  // Encrypts the session cookie. A random value ends all sessions when the application restarts.
  SESSION_SECRET = randomBytes(32).toString('hex'),
} = process.env;

const { auth, requiresAuth } = openidConnect;
const application = express();

// Adds the routes /login, /callback and /logout. The library uses PKCE and a nonce in a signed cookie,
// so that the browser accepts no code but its own.
application.use(
  auth({
    issuerBaseURL: AUTHORIZATION_SERVER_URL,
    baseURL: BASE_URL,
    clientID: CLIENT_ID,
    clientSecret: readFileSync(SECURE_KEY_FILE, 'utf8').trim(),
    secret: SESSION_SECRET,
    authorizationParams: { response_type: 'code', scope: 'openid profile device:read' },
    authRequired: false,
    idpLogout: true,
  }),
);

application.get('/', async (request, response) => {
  if (!request.oidc.isAuthenticated()) {
    response.send('<p>Signed out.</p><a href="/login">Sign in</a>');
    return;
  }
  const { name } = await request.oidc.fetchUserInfo();
  response.send(
    `<p>Signed in as ${escapeHtml(name)}.</p><a href="/devices">Devices</a> <a href="/logout">Sign out</a>`,
  );
});

application.get('/devices', requiresAuth(), async (request, response) => {
  let token = request.oidc.accessToken;
  if (token.isExpired()) {
    token = await token.refresh();
  }
  const reply = await fetch(`${GATEWAY_URL}/api/device`, {
    headers: { Authorization: `Bearer ${token.access_token}` },
  });
  if (reply.status === 401 && request.query.retried === undefined) {
    // The token was revoked. If the user is still signed in at Gatehouse, this shows no page.
    await response.oidc.login({ returnTo: '/devices?retried' });
    return;
  }
  const { result, message } = await reply.json();
  const lines = reply.ok ? result.map(({ name }) => name) : [message];
  response.send(`<ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`);
});

application.use((error, _request, response, _next) => {
  const { status = 500, message, error_description: reason = message } = error;
  response.status(status).send(`<p>${escapeHtml(reason)}</p><a href="/">Back</a>`);
});

function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

application.listen(Number(PORT), 'localhost', () => console.log(`Open ${BASE_URL}`));
