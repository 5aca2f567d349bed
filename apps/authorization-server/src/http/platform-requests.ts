import type { IncomingMessage } from 'node:http';

/** The grant types of the platform endpoint, from Method C of the specification. */
export const platformGrantTypes: ReadonlySet<unknown> = new Set([
  'authorization_code',
  'client_credentials',
  'refresh_token',
]);

const requests = new WeakSet<IncomingMessage>();

/**
 * Remembers that a request came from the platform endpoint: it continues as a request to /token.
 */
export function markPlatformRequest(request: IncomingMessage): void {
  requests.add(request);
}

export function isPlatformRequest(request: IncomingMessage): boolean {
  return requests.has(request);
}
