// A command-line program. The user signs in with a browser on this machine (RFC 8252), or with
// --device on another one (RFC 8628). The program then lists the devices of the user.
import { on, once } from 'node:events';
import { createServer } from 'node:http';
import * as client from 'openid-client';

const {
  AUTHORIZATION_SERVER_URL = 'http://localhost:9000',
  GATEWAY_URL = 'http://localhost:8844',
  CLIENT_ID = 'native-application',
} = process.env;
const scope = 'openid profile device:read';

const issuer = new URL(AUTHORIZATION_SERVER_URL);
const configuration = await client.discovery(issuer, CLIENT_ID, undefined, client.None(), {
  // The library requires https. A server on this machine may use http.
  execute: issuer.hostname === 'localhost' ? [client.allowInsecureRequests] : [],
});

async function signInWithBrowser() {
  // Only programs on this machine can reach the address. The system chooses a free port.
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const redirectUri = `http://127.0.0.1:${server.address().port}/callback`;
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const expectedNonce = client.randomNonce();
  const address = client.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope,
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  console.log(`Open this address in your browser:\n${address.href}`);
  for await (const [request, response] of on(server, 'request')) {
    // Any program on this machine can send a path that is not a URL, such as //.
    const isUrl = URL.canParse(request.url, redirectUri);
    const reply = isUrl ? new URL(request.url, redirectUri) : undefined;
    // Other programs on this machine and other pages of the browser cannot know the state.
    if (reply?.pathname !== '/callback' || reply.searchParams.get('state') !== expectedState) {
      response.writeHead(404).end();
      continue;
    }
    response.end('Return to the program. You can close this page.');
    server.close();
    server.closeIdleConnections();
    const checks = { pkceCodeVerifier, expectedState, expectedNonce };
    return client.authorizationCodeGrant(configuration, reply, checks);
  }
}

async function signInOnAnotherDevice() {
  const reply = await client.initiateDeviceAuthorization(configuration, { scope });
  console.log(`On another device, open ${reply.verification_uri} and enter ${reply.user_code}`);
  return client.pollDeviceAuthorizationGrant(configuration, reply);
}

try {
  const isDevice = process.argv.includes('--device');
  const tokens = await (isDevice ? signInOnAnotherDevice() : signInWithBrowser());
  const { name } = await client.fetchUserInfo(
    configuration,
    tokens.access_token,
    tokens.claims().sub,
  );
  console.log(`Signed in as ${name}.`);
  const reply = await fetch(`${GATEWAY_URL}/api/device`, {
    headers: { Authorization: `Bearer ${tokens.access_token}` },
  });
  const { result, message } = await reply.json();
  console.log(reply.ok ? result.map(({ name }) => name).join('\n') : message);
} catch (error) {
  console.error(`Cannot sign in: ${error.error_description ?? error.message}`);
  process.exitCode = 1;
}
