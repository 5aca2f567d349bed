/** How a client sends a request again: the form of the text that it signs, and a command. */
import { operations as deviceOperations } from '@gatehouse/device-api';
import type { ExplainedRequest } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import type { Visit } from '../frame/screen.ts';
import { card, commandBlock } from '../view/parts.ts';

export interface Replay {
  /** Undefined if the log does not have it. */
  readonly entry: ExplainedRequest | undefined;
  /** Undefined if the request had no signature, or its client is unknown. */
  readonly signatureAlgorithm: string | undefined;
  /** The address of the server, or the name of a variable. */
  readonly server: string;
}

/** The log has no values, so this is the form of the text. */
export function signedText({ entry, signatureAlgorithm }: Replay, visit: Visit): Html | undefined {
  if (entry === undefined || signatureAlgorithm === undefined) {
    return undefined;
  }
  const { method = 'GET', clientId = 'CLIENT_ID' } = entry;
  const isBodySigned = method !== 'GET' && method !== 'DELETE';
  const text =
    signatureAlgorithm === 'HMAC-SHA-256'
      ? [
          ...['GATEHOUSE-V2', method, 'PATH', 'QUERY', 'CONTENT_TYPE', 'SHA256_OF_BODY'],
          ...[clientId, 'TIMESTAMP', 'NONCE'],
        ].join('\n')
      : `${signatureAlgorithm}(${isBodySigned ? 'BODY' : 'SORTED_PARAMETERS'} + TIMESTAMP + SECURE_KEY)`;
  return commandCard('signed', text, visit);
}

const commandCard = (name: 'signed' | 'curl', text: string, { texts }: Visit): Html =>
  card(
    texts.requests[name],
    html`<p class="hint">${texts.requests[`${name}Hint`]}</p>${commandBlock(text, texts)}`,
  );

/** The log names the credential only if it was valid. A reason can tell the kind of a rejected one. */
export function credentialOf({ credential, reason = '', explanation }: ExplainedRequest) {
  if (credential !== undefined || explanation?.stage !== 'authenticate') {
    return credential;
  }
  const signed = ['invalid_signature', 'timestamp_out_of_range', 'missing_signature'];
  if ([reason, ...explanation.codes].some((name) => signed.includes(name))) {
    return 'signature';
  }
  return /^(?:bearer|token|access_token)_/.test(reason) ? 'bearer' : undefined;
}

/** The endpoints that machines call. Other operations of the authorization server are pages. */
const endpoints: Readonly<Record<string, string>> = {
  token: '/token',
  introspect: '/introspect',
  revoke: '/revoke',
  par: '/par',
  userinfo: '/userinfo',
  register: '/register',
  'device-authorization': '/device/auth',
};

const credentialHeaders: Readonly<Record<string, readonly string[]>> = {
  bearer: ['Authorization: Bearer $ACCESS_TOKEN'],
  'access-token': ['X-Access-Token: $X_ACCESS_TOKEN'],
};

export function curl(data: Replay, visit: Visit): Html | undefined {
  const command = data.entry && curlCommand(data.entry, data);
  return command === undefined ? undefined : commandCard('curl', command, visit);
}

/** A text within double quotes of a POSIX shell. Strangers choose the ids of metadata documents. */
const inQuotes = (text: string): string => text.replace(/[$`"\\]/g, '\\$&');

function curlCommand(entry: ExplainedRequest, { server, signatureAlgorithm }: Replay) {
  const { app, operation, method = 'GET', clientId } = entry;
  const named = clientId === undefined ? '$CLIENT_ID' : inQuotes(clientId);
  // RFC 6749 §2.3.1.
  const encoded = clientId === undefined ? '$CLIENT_ID' : encodeURIComponent(clientId);
  const credential = credentialOf(entry) ?? '';
  const isGateway = app === 'gateway';
  const known = deviceOperations.find(({ name }) => name === operation)?.paths[0];
  const path = isGateway ? (known?.replace(/\{(\w+)\}/g, '$$$1') ?? '/PATH') : endpoints[operation];
  if (path === undefined) {
    return undefined;
  }
  const signature =
    signatureAlgorithm === 'HMAC-SHA-256'
      ? ['X-Nonce: $NONCE', 'X-Sign-V2: $SIGNATURE']
      : ['X-Sign: $SIGNATURE'];
  const headers =
    credential === 'signature'
      ? [`X-Client-Id: ${named}`, 'X-Timestamp: $TIMESTAMP', ...signature]
      : (credentialHeaders[credential] ?? []);
  const hasBody = !['GET', 'HEAD', 'DELETE'].includes(method);
  const body = isGateway ? [`-H "Content-Type: application/json" -d "$BODY"`] : ['-d "$FORM"'];
  return [
    `curl -i -X ${method} "${server}${path}"`,
    ...headers.map((header) => `-H "${header}"`),
    ...(isGateway ? [] : [`-u "${encoded}:$CLIENT_SECRET"`]),
    ...(hasBody ? body : []),
  ].join(' \\\n  ');
}
