import type { Demo } from '@gatehouse/identity';

export interface StartMessageInput {
  readonly authorizationServerUrl: string;
  readonly gatewayUrl: string;
  /** The address of the device service, or a description. */
  readonly deviceService: string;
  readonly demo: Demo | undefined;
  /** How to stop, and which data remains. */
  readonly closing: string;
}

/** The addresses and, with the demo, commands to paste. */
export function startMessage(input: StartMessageInput): string {
  const addresses = `
Gatehouse is running.

  Authorization server  ${input.authorizationServerUrl}
  Gateway               ${input.gatewayUrl}
  Device service        ${input.deviceService}
`;
  const commands = input.demo === undefined ? '' : demoCommands(input, input.demo);
  return `${addresses}${commands}\n${input.closing}\n`;
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
1. Get an access token for a machine (client_credentials):

${token} -w '\\n'

2. List the devices through the gateway with an access token:

curl -s ${input.gatewayUrl}/api/device -w '\\n' -H "Authorization: Bearer $(${token} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')"

3. List the devices with a signed request. This needs only curl and openssl:

TIMESTAMP=$(date +%s)000; curl -s '${input.gatewayUrl}/api/device?${query}' -w '\\n' -H 'X-Client-Id: ${clientId}' -H "X-Timestamp: $TIMESTAMP" -H "X-Sign: $(printf %s "${query}\${TIMESTAMP}${secureKey}" | openssl dgst -sha256 -r | cut -d ' ' -f 1)"

4. Open this address in a browser, and sign in as ${demo.username} with the password ${demo.password}:

${input.authorizationServerUrl}/authorize?${signIn}
`;
}
