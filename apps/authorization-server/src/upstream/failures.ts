/** The pages of what can fail on the way to an upstream provider and back. */
import type { IncomingMessage } from 'node:http';
import { addressGroupOf } from '../requests/caller.ts';
import { AccountRefusedError } from './accounts.ts';
import { UpstreamError } from './clients.ts';
import { RoundTripExpiredError } from './round-trips.ts';

/** The query is whole, because `iss`, `code` and `state` must each occur once. */
export function callbackOf(request: IncomingMessage & { readonly originalUrl: string }) {
  const query = new URL(request.originalUrl, 'http://unused.invalid').searchParams;
  return { query, addressGroup: addressGroupOf(request) };
}

/**
 * The page of an error, and what the log and the audit trail report.
 *
 * @throws every other error
 */
export function failureOf(error: unknown) {
  if (error instanceof RoundTripExpiredError) {
    return { status: 400, message: 'signInExpired', finding: error.message } as const;
  }
  if (error instanceof AccountRefusedError) {
    const { reason, userId } = error;
    return { status: 403, message: 'upstreamRefused', reason, userId } as const;
  }
  if (error instanceof UpstreamError) {
    const reason = 'upstream_failed';
    const status = error.isRejection ? 400 : 502;
    return { status, message: 'upstreamFailed', reason, finding: error.message } as const;
  }
  throw error;
}
