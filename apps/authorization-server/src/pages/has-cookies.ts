import type { IncomingMessage } from 'node:http';

/** False for the second page of a browser that blocks cookies, because the first page sets one. */
export function hasCookies({ headers }: IncomingMessage): boolean {
  return headers.cookie !== undefined;
}
