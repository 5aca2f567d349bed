import type { Demo } from '@gatehouse/identity';

export interface StartMessageInput {
  /** The first line. By default, that Gatehouse is running. */
  readonly heading?: string;
  readonly authorizationServerUrl: string;
  readonly gatewayUrl: string;
  /** Undefined: no console runs. */
  readonly consoleUrl?: string;
  /** The gateway serves the API explorer. */
  readonly explorer: boolean;
  /** The address of the device service, or a description. */
  readonly deviceService: string;
  /** The address of the demo application, or a description. Only with a demo. */
  readonly demoApplication?: string;
  readonly demo: Demo | undefined;
  /** How to stop, and which data remains. */
  readonly closing: string;
}

/** The addresses and, with the demo, commands to paste. */
export function startMessage(input: StartMessageInput): string {
  const { demo, demoApplication, heading = 'Gatehouse is running.' } = input;
  const ofDemo = demo && (demoApplication ?? addressOf(demo));
  const addresses = `
${heading}

  Authorization server  ${input.authorizationServerUrl}
  Gateway               ${input.gatewayUrl}
${input.explorer ? `  API explorer          ${input.gatewayUrl}/explorer\n` : ''}  Device service        ${input.deviceService}
${input.consoleUrl === undefined ? '' : `  Console               ${input.consoleUrl}\n`}${ofDemo === undefined ? '' : `  Demo application      ${ofDemo}\n`}`;
  const commands = demo === undefined ? '' : demoCommands(input, demo);
  return `${addresses}${commands}\n${input.closing}\n`;
}

function addressOf({ redirectUri }: Demo): string {
  return new URL(redirectUri).origin;
}

function demoCommands(input: StartMessageInput, demo: Demo): string {
  const { clientId, secureKey } = demo;
  const token = `curl -s -u ${clientId}:${secureKey} -d grant_type=client_credentials ${input.authorizationServerUrl}/token`;
  const query = 'pageIndex=0&pageSize=20';
  return `
1. Get an access token for a machine (client_credentials):

${token} -w '\\n'

2. List the devices through the gateway with an access token:

curl -s ${input.gatewayUrl}/api/device -w '\\n' -H "Authorization: Bearer $(${token} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')"

3. List the devices with a signed request. This needs only curl and openssl:

TIMESTAMP=$(date +%s)000; curl -s '${input.gatewayUrl}/api/device?${query}' -w '\\n' -H 'X-Client-Id: ${clientId}' -H "X-Timestamp: $TIMESTAMP" -H "X-Sign: $(printf %s "${query}\${TIMESTAMP}${secureKey}" | openssl dgst -sha256 -r | cut -d ' ' -f 1)"

4. Open this address in a browser, press "Sign in", and sign in as ${demo.username} with the password ${demo.password}:

${addressOf(demo)}
${input.consoleUrl === undefined ? '' : consoleCommands(input.consoleUrl, demo)}`;
}

function consoleCommands(consoleUrl: string, { username }: Demo): string {
  return `
5. Open the console, and sign in as ${username} with the same password. The first sign-in sets up an authenticator app or a passkey:

${consoleUrl}
`;
}
