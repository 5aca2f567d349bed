// Signs the user in by redirect, and calls the gateway with the user's access token.
const { InMemoryWebStorage, UserManager, WebStorageStateStore } = globalThis.oidc;
const { authorizationServer, gateway, clientId } = await (await fetch('/settings.json')).json();

const manager = new UserManager({
  authority: authorizationServer,
  client_id: clientId,
  redirect_uri: `${location.origin}/callback`,
  post_logout_redirect_uri: `${location.origin}/`,
  scope: 'openid profile device:read',
  // In the security profile strict, the ID token contains no name.
  loadUserInfo: true,
  // Without this line, the tokens are in sessionStorage, where they survive the page.
  userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
});

const element = (id) => document.getElementById(id);
const show = (text) => {
  element('status').textContent = text;
};
const showError = (error) => show(`Error: ${error.message}`);

async function showDevices({ access_token, profile }) {
  show(`Signed in as ${profile.name}.`);
  const reply = await fetch(`${gateway}/api/device`, {
    headers: { Authorization: `Bearer ${access_token}` },
  });
  const { result, message } = await reply.json();
  if (!reply.ok) {
    throw new Error(message);
  }
  for (const { name } of result) {
    element('devices').append(Object.assign(document.createElement('li'), { textContent: name }));
  }
}

async function finishSignIn() {
  // Removes the code from the address and the history, even if the sign-in fails.
  const address = location.href;
  history.replaceState(null, '', '/');
  await showDevices(await manager.signinRedirectCallback(address));
}

element('sign-in').onclick = () =>
  manager.signinRedirect({ nonce: crypto.randomUUID() }).catch(showError);
element('sign-out').onclick = () => manager.signoutRedirect().catch(showError);
element('sign-in').disabled = false;
element('sign-out').disabled = false;

if (location.pathname === '/callback') {
  await finishSignIn().catch(showError);
}
