import type { IncomingMessage } from 'node:http';

/** A grant type that the platform endpoint serves: the three that Method C of the specification names. */
export const platformGrantTypes: ReadonlySet<unknown> = new Set([
  'authorization_code',
  'client_credentials',
  'refresh_token',
]);

const requests = new WeakSet<IncomingMessage>();

/** Remembers where a request came in: from then on it is one of the provider's /token. */
export function markPlatformRequest(request: IncomingMessage): void {
  requests.add(request);
}

export function isPlatformRequest(request: IncomingMessage): boolean {
  return requests.has(request);
}
