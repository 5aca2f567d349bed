import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * The id of a request in log, audit trail and reply, for every app. A caller's `X-Request-Id` is used only where it is
 * 8 to 64 characters of [A-Za-z0-9._-], so that it cannot forge log lines or headers. Otherwise it is random.
 */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : randomUUID();
}
