import { ApiError } from '@gatehouse/api-envelope';
import type { FailureReasonName } from '@gatehouse/failure-reasons';
import type { RateLimit, Verdict } from '@gatehouse/store';

/** One limit that a request was counted against. */
export interface AppliedLimit {
  /** In quotation marks, as in the headers. */
  readonly name: string;
  readonly policy: string;
  readonly verdict: Verdict;
}

export function limitPolicy(name: string, { requests, windowSeconds }: RateLimit): string {
  return `"${name}";q=${requests};w=${windowSeconds}`;
}

/** Adds `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-08). */
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
    states += `${separator}${name};r=${verdict.remaining};t=${secondsLeft(verdict, now)}`;
  }
  headers.push('RateLimit-Policy', policies, 'RateLimit', states);
}

export function tooManyRequests(
  verdict: Verdict,
  reason: FailureReasonName,
  now: number,
): ApiError {
  return new ApiError('too_many_requests', {
    headers: { 'Retry-After': String(Math.max(1, secondsLeft(verdict, now))) },
    reason,
  });
}

function secondsLeft({ resetsAt }: Verdict, now: number): number {
  return Math.max(0, Math.ceil((resetsAt - now) / 1000));
}
