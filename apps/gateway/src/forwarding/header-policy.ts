import type { IncomingHttpHeaders } from 'node:http';

/**
 * Which headers cross the gateway. Towards the service: only those named here, so that a caller can set no
 * identity (X-User-Id, X-Auth-*, CVE-2025-64484), no other path or method (X-Original-URL,
 * X-HTTP-Method-Override, CVE-2026-40575), no origin (X-Forwarded-*, Forwarded, X-Real-IP), none of them
 * spelled with `_` either, and never its credentials. Towards the caller: all but those named below.
 */
const forwardedRequestHeaders = [
  'accept',
  'accept-language',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'prefer',
  'range',
  'traceparent',
  'tracestate',
  'user-agent',
] as const;

const withheldReplyHeaders: ReadonlySet<string> = new Set([
  // Hop by hop (RFC 9110 §7.6.1): they speak of the connection to the service.
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Who answers behind the gateway is nobody's business (ASVS 13.4.6).
  'server',
  'via',
  'x-powered-by',
  // Only the gateway signs; a service must not be able to forge it.
  'x-sign',
  'x-sign-v2',
  'x-timestamp',
  // The gateway's callers have no session with the service, and its challenge is meant for the gateway.
  'set-cookie',
  'clear-site-data',
  'www-authenticate',
  'alt-svc',
  // They make a browser load or follow what the service names, from the gateway's origin.
  'link',
  'refresh',
  // Only as public-location translates them.
  'content-location',
  'location',
  // The gateway says these itself.
  'cache-control',
  'content-length',
  'pragma',
  'x-content-type-options',
  'x-request-id',
]);

export interface ForwardedRequestContext {
  readonly requestId: string;
  readonly clientAddress: string;
  /** The gateway's own public address: never what a Host header says. */
  readonly publicHost: string;
  readonly publicScheme: string;
  readonly internalToken: string;
  /** Replaces the request's own. */
  readonly contentType: string | undefined;
}

/** Name, value, …: what the service sees of a request. */
export function forwardedHeaders(
  headers: IncomingHttpHeaders,
  context: ForwardedRequestContext,
): string[] {
  const forwarded = [
    'authorization',
    `Bearer ${context.internalToken}`,
    'x-request-id',
    context.requestId,
    'x-forwarded-for',
    context.clientAddress,
    'x-forwarded-proto',
    context.publicScheme,
    'x-forwarded-host',
    context.publicHost,
  ];
  const nominated = nominatedHeaders(headers.connection);
  for (const name of forwardedRequestHeaders) {
    const value = name === 'content-type' ? (context.contentType ?? headers[name]) : headers[name];
    // Not the type of the body: it may be signed, and says how the body is to be read (GW-18).
    const isDropped = name !== 'content-type' && nominated?.has(name) === true;
    if (typeof value === 'string' && !isDropped) {
      forwarded.push(name, value);
    }
  }
  return forwarded;
}

/**
 * Name, value, …: what the caller sees of a reply.
 *
 * @param headers name in lower case, value, …
 * @param translate a location of the service → the public one; undefined: it is withheld
 */
export function repliedHeaders(
  headers: readonly string[],
  translate: (location: string) => string | undefined,
): string[] {
  const replied: string[] = [];
  const nominated = nominatedHeaders(connectionIn(headers));
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const isWithheld =
      withheldReplyHeaders.has(name) ||
      name.startsWith('access-control-') ||
      nominated?.has(name) === true;
    if (!isWithheld) {
      replied.push(name, headers[index + 1] ?? '');
    } else if (name === 'location' || name === 'content-location') {
      const location = translate(headers[index + 1] ?? '');
      if (location !== undefined && isSingle(name, headers)) {
        replied.push(name, location);
      }
    }
  }
  return replied;
}

/** Of two, clients follow one or the other. */
function isSingle(name: string, headers: readonly string[]): boolean {
  return headers.filter((text, index) => index % 2 === 0 && text === name).length === 1;
}

function connectionIn(headers: readonly string[]): string | undefined {
  let found: string | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === 'connection') {
      found = found === undefined ? headers[index + 1] : `${found},${headers[index + 1]}`;
    }
  }
  return found;
}

/**
 * What a Connection header declares hop by hop. It can only take away from what would have been passed on:
 * verification is over by then, and what the gateway sets is never asked (CVE-2025-48865).
 */
function nominatedHeaders(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || /^(keep-alive|close)$/i.test(connection)) {
    return undefined;
  }
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}
