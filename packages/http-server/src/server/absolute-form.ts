import type { IncomingMessage } from 'node:http';
import { isHost } from './host.ts';

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i;

/**
 * Replaces a target in absolute form by its path and query, and `Host` by its authority (RFC 9112
 * §3.2.2). Routes, signatures and replies then see one target, whichever form the client sent.
 *
 * @returns false if the target is not valid for an origin server, or if `Host` is missing, so the
 * request must be rejected
 */
export function toOriginForm(request: IncomingMessage): boolean {
  if (lacksHost(request)) {
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

/** HTTP/1.0 does not require `Host` (RFC 9112 §3.2). */
export const lacksHost = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.host === undefined && httpVersion !== '1.0';
