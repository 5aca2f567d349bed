import type { IncomingMessage } from 'node:http';
import { isHost } from './host.ts';

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i;

/**
 * Replaces a target in absolute form by its path and query, and `Host` by its authority (RFC 9112
 * §3.2.2). Routes, signatures and replies then see one target, whichever form the client sent.
 *
 * @returns false if the target is not valid for an origin server, or if `Host` is missing or
 * repeated, so the request must be rejected
 */
export function toOriginForm(request: IncomingMessage): boolean {
  if (hostProblem(request) !== undefined) {
    return false;
  }
  const { url = '' } = request;
  if (url.startsWith('/') || url === '*') {
    return true;
  }
  const [, authority = '', rest = ''] = ABSOLUTE_FORM.exec(url) ?? [];
  if (!isHost(authority)) {
    return false;
  }
  request.headers.host = authority;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  return true;
}

/**
 * Returns why the `Host` of a request is missing or ambiguous, or undefined (RFC 9112 §3.2). Of two,
 * Node keeps the first without an error, and a proxy could use the second. HTTP/1.0 requires none.
 */
export function hostProblem(request: IncomingMessage): string | undefined {
  const { headers, httpVersion, rawHeaders } = request;
  if (headers.host === undefined) {
    return httpVersion === '1.0' ? undefined : 'A request in HTTP/1.1 needs a Host header.';
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') {
      hosts += 1;
    }
  }
  return hosts > 1 ? 'The Host header was sent twice.' : undefined;
}
