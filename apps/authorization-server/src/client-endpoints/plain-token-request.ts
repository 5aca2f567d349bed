import type { IncomingMessage } from 'node:http';

/** A machine's token request in a form that every parser reads alike. */
export interface PlainTokenRequest {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
  /** Whether the credentials were in the Authorization header or in the body. */
  readonly credential: 'basic' | 'body';
}

const MAXIMUM_PLAIN_BYTES = 2048;
const FORM_TYPE = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i;
/** Headers of features that only the provider handles: CORS, attestation. */
const headersForTheProvider = [
  'origin',
  'oauth-client-attestation',
  'oauth-client-attestation-pop',
] as const;

/** Whether the headers allow a plain request, so that the body is worth reading. */
export function mayBePlain({ headers, readableEnded }: IncomingMessage): boolean {
  const length = Number(headers['content-length']);
  return (
    // transport.ts has read the body of a request with an empty secret.
    readableEnded !== true &&
    length > 0 &&
    length <= MAXIMUM_PLAIN_BYTES &&
    FORM_TYPE.test(headers['content-type'] ?? '') &&
    headersForTheProvider.every((name) => headers[name] === undefined)
  );
}

/** Characters that no decoder changes. Parsers differ in their treatment of percent and plus. */
const PLAIN = /^[\w.~-]+$/;
const PLAIN_SCOPE = /^(?:[\w.~:+-]|%20|%3A)+$/i;
const BASIC = /^Basic ((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/i;
const members = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);

/**
 * The request, or undefined for every other request: a parameter that is repeated, empty or
 * unknown, credentials in two places, an encoded character. Undefined does not mean that the
 * request is invalid.
 */
export function readPlainTokenRequest(
  authorization: string | undefined,
  body: string,
): PlainTokenRequest | undefined {
  const form = readForm(body);
  if (form?.get('grant_type') !== 'client_credentials') {
    return undefined;
  }
  const credentials = readCredentials(authorization, form);
  const scope = form.get('scope');
  if (credentials === undefined || (scope !== undefined && !PLAIN_SCOPE.test(scope))) {
    return undefined;
  }
  return { ...credentials, scope: scope && decodeURIComponent(scope.replaceAll('+', ' ')) };
}

function readForm(body: string): ReadonlyMap<string, string> | undefined {
  const form = new Map<string, string>();
  for (const pair of body.split('&')) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals);
    if (equals < 0 || !members.has(name) || form.has(name)) {
      return undefined;
    }
    form.set(name, pair.slice(equals + 1));
  }
  return form;
}

/**
 * The credentials from HTTP Basic or from the body, not both. With Basic, an id in the body must be
 * the same.
 */
function readCredentials(
  authorization: string | undefined,
  form: ReadonlyMap<string, string>,
): Omit<PlainTokenRequest, 'scope'> | undefined {
  let clientId = form.get('client_id');
  let clientSecret = form.get('client_secret');
  if (authorization !== undefined) {
    const [, encoded = ''] = BASIC.exec(authorization) ?? [];
    const text = Buffer.from(encoded, 'base64').toString('latin1');
    const colon = text.indexOf(':');
    const basicId = text.slice(0, Math.max(colon, 0));
    if (clientSecret !== undefined || (clientId !== undefined && clientId !== basicId)) {
      return undefined;
    }
    clientId = basicId;
    clientSecret = text.slice(colon + 1);
  }
  return clientId !== undefined &&
    clientSecret !== undefined &&
    PLAIN.test(clientId) &&
    PLAIN.test(clientSecret)
    ? { clientId, clientSecret, credential: authorization === undefined ? 'body' : 'basic' }
    : undefined;
}
