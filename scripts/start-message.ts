import type { Demo } from '@gatehouse/identity';

export interface StartMessageInput {
  readonly authorizationServerUrl: string;
  readonly gatewayUrl: string;
  readonly deviceServiceUrl: string;
  readonly dataDirectory: string;
  readonly demo: Demo | undefined;
}

/** What `npm start` prints: where everything is, and commands that work when pasted. */
export function startMessage(input: StartMessageInput): string {
  const addresses = `
Gatehouse is running.

  Authorization server  ${input.authorizationServerUrl}
  Gateway               ${input.gatewayUrl}
  Device service        ${input.deviceServiceUrl} (behind the gateway)
`;
  return input.demo === undefined
    ? `${addresses}\nCtrl-C stops everything.\n`
    : `${addresses}${demoCommands(input, input.demo)}`;
}

function demoCommands(input: StartMessageInput, demo: Demo): string {
  const { clientId, secureKey } = demo;
  const token = `curl -s -u ${clientId}:${secureKey} -d grant_type=client_credentials ${input.authorizationServerUrl}/token`;
  const query = 'pageIndex=0&pageSize=20';
  const signIn = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: demo.redirectUri,
    state: 'demo',
  });
  return `
1. An access token for a machine (client_credentials):

${token} -w '\\n'

2. The device list through the gateway, with such a token:

curl -s ${input.gatewayUrl}/api/device -w '\\n' -H "Authorization: Bearer $(${token} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')"

3. The same with a signed request, with curl and openssl alone:

TIMESTAMP=$(date +%s)000; curl -s '${input.gatewayUrl}/api/device?${query}' -w '\\n' -H 'X-Client-Id: ${clientId}' -H "X-Timestamp: $TIMESTAMP" -H "X-Sign: $(printf %s "${query}\${TIMESTAMP}${secureKey}" | openssl dgst -sha256 -r | cut -d ' ' -f 1)"

4. Sign in with a browser, as ${demo.username} with the password ${demo.password}:

${input.authorizationServerUrl}/authorize?${signIn}

Ctrl-C stops everything. The data stays in ${input.dataDirectory}.
`;
}
