// A single-page application with oidc-client-ts. LIBRARY is the package, such as oidc-client-ts-3.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import express from 'express';

const { CLIENT_ID, ISSUER, LIBRARY, PORT } = process.env;
const library = dirname(createRequire(import.meta.url).resolve(LIBRARY));

const page = `<!doctype html>
<script src="/library/oidc-client-ts.min.js"></script>
<p>Signed out.</p>
<button id="redirect">Sign in</button>
<button id="popup">Sign in in a popup</button>
<button id="renew">Renew</button>
<button id="leave">Sign out</button>
<script type="module" src="/application.js"></script>`;

const script = `
const manager = new oidc.UserManager({
  authority: ${JSON.stringify(ISSUER)},
  client_id: ${JSON.stringify(CLIENT_ID)},
  redirect_uri: location.origin + '/callback',
  post_logout_redirect_uri: location.origin + '/',
  scope: 'openid profile email',
});
manager.events.addUserLoaded(show);
if (location.pathname === '/callback') {
  const user = await manager.signinCallback();
  if (user && window.parent === window) location.replace('/');
} else {
  show(await manager.getUser());
}
function show(user) {
  if (!user) return;
  const text = 'Signed in as ' + user.profile.name + ', ' + user.profile.email + '.';
  document.querySelector('p').textContent = text;
  document.body.dataset.token = user.access_token;
}
const actions = {
  redirect: () => manager.signinRedirect(),
  popup: () => manager.signinPopup(),
  renew: () => manager.signinSilent(),
  leave: () => manager.signoutRedirect(),
};
for (const [id, act] of Object.entries(actions)) {
  const failed = (error) => { document.querySelector('p').textContent = String(error); };
  document.getElementById(id).onclick = () => act().catch(failed);
}`;

const app = express();
app.use('/library', express.static(join(library, '..', 'browser')));
app.get('/application.js', (_request, response) => response.type('js').send(script));
app.get(['/', '/callback'], (_request, response) => response.send(page));
app.listen(PORT, () => process.stdout.write('listening\n'));
