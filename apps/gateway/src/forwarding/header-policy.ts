import type { IncomingHttpHeaders } from 'node:http';

/**
 * The request headers that reach the upstream. All others are dropped: credentials, and headers
 * with which a caller could set an identity (X-User-Id, X-Auth-*, CVE-2025-64484), another path or
 * method (X-Original-URL, X-HTTP-Method-Override, CVE-2026-40575) or an origin (X-Forwarded-*,
 * Forwarded, X-Real-IP), also spelled with `_`.
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
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'prefer',
  'range',
  'traceparent',
  'tracestate',
  'user-agent',
] as const;

/** The reply headers that do not reach the caller. All others do. */
const withheldReplyHeaders: ReadonlySet<string> = new Set([
  // Hop-by-hop headers (RFC 9110 §7.6.1) describe the connection to the upstream.
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // They identify the software of the upstream (ASVS 13.4.6).
  'server',
  'via',
  'x-powered-by',
  // Explains a failure to the gateway, for the log.
  'x-failure',
  // Only the gateway signs. An upstream must not be able to forge a signature.
  'x-sign',
  'x-sign-v2',
  'x-timestamp',
  // Callers have no session with the upstream, and its challenge is for the gateway.
  'set-cookie',
  'clear-site-data',
  'www-authenticate',
  'alt-svc',
  // They would make a browser load or follow URLs of the upstream from the gateway's origin.
  'link',
  'refresh',
  // Sent only as translated by public-location.
  'content-location',
  'location',
  // The gateway sets these itself.
  'cache-control',
  'content-length',
  'pragma',
  'x-content-type-options',
  'x-request-id',
]);

/**
 * The headers of a request for the upstream: name, value, …
 *
 * @param own those of the gateway itself, to which the others are added
 * @param more names that the route adds, in lowercase
 * @param replacements values that replace those of the request
 */
export function forwardedHeaders(
  own: string[],
  headers: IncomingHttpHeaders,
  more: readonly string[],
  replacements: Readonly<Record<string, string | undefined>>,
): string[] {
  const nominated = nominatedHeaders(headers.connection);
  const names =
    more.length === 0 ? forwardedRequestHeaders : new Set([...forwardedRequestHeaders, ...more]);
  for (const name of names) {
    const value = replacements[name] ?? headers[name];
    // Content-Type is never dropped: it may be signed, and it decides how to read the body.
    const isDropped = name !== 'content-type' && nominated?.has(name) === true;
    if (typeof value === 'string' && !isDropped) {
      own.push(name, value);
    }
  }
  return own;
}

/**
 * The headers of a reply for the caller: name, value, …
 *
 * @param headers name in lowercase, value, …
 * @param translate returns the public URL of an upstream's location, or undefined to withhold it
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

/** Clients differ in which of two locations they follow. */
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
 * The headers that a Connection header declares hop-by-hop. It can only remove headers of the
 * caller: it affects neither verification nor the headers that the gateway sets (CVE-2025-48865).
 */
function nominatedHeaders(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || /^(keep-alive|close)$/i.test(connection)) {
    return undefined;
  }
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}
