import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Returns the id of a request for log, audit trail and reply. The client's `X-Request-Id` is used
 * only if it has 8 to 64 characters of [A-Za-z0-9._-], so it cannot forge log lines or headers.
 * Otherwise the id is random.
 */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : randomUUID();
}
