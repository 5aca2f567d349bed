// What follows the # never reaches the server, so the address {auth_url}/#/user/login is read here.
// Only the named parameters go on, and only into the query of our own /authorize; nothing becomes markup.
const passed = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'scope',
  'nonce',
  'code_challenge',
  'code_challenge_method',
];

function goOn() {
  const [path, query = ''] = window.location.hash.slice(1).split(/\?(.*)/s);
  if (path !== '/user/login') {
    return;
  }
  const given = [...new URLSearchParams(query)].filter(([name]) => passed.includes(name));
  window.location.replace(
    given.length === 0 ? '/account' : `/authorize?${new URLSearchParams(given)}`,
  );
}

window.addEventListener('hashchange', goOn);
goOn();
