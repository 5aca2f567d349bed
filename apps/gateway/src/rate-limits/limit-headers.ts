import type { FailureReasonName } from '@gatehouse/errors';
import { ApiError } from '@gatehouse/errors';
import { limitState, retryAfter, type Verdict } from '@gatehouse/store';

/** One limit that a request was counted against. */
export interface AppliedLimit {
  /** In quotation marks, as in the headers. */
  readonly name: string;
  readonly policy: string;
  readonly verdict: Verdict;
}

/** Adds `RateLimit-Policy` and `RateLimit`. */
export function addLimitHeaders(
  headers: string[],
  applied: readonly AppliedLimit[],
  now: number,
): void {
  if (applied.length === 0) {
    return;
  }
  let policies = '';
  let states = '';
  for (const { name, policy, verdict } of applied) {
    const separator = policies === '' ? '' : ', ';
    policies += separator + policy;
    states += separator + limitState(name, verdict, now);
  }
  headers.push('RateLimit-Policy', policies, 'RateLimit', states);
}

export function tooManyRequests(
  verdict: Verdict,
  reason: FailureReasonName,
  now: number,
  details: { readonly clientId?: string; readonly message?: string } = {},
): ApiError {
  return new ApiError('too_many_requests', {
    ...details,
    headers: { 'Retry-After': retryAfter(verdict, now) },
    reason,
  });
}
