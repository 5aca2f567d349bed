/** The fields of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-08). */
import type { RateLimit, Verdict } from './rate-limiter.ts';

/** @param name a quoted string, which both headers use */
export function limitPolicy(name: string, { requests, windowSeconds }: RateLimit): string {
  return `${name};q=${requests};w=${windowSeconds}`;
}

export function limitState(name: string, verdict: Verdict, now: number): string {
  return `${name};r=${verdict.remaining};t=${secondsLeft(verdict, now)}`;
}

/** The value of `Retry-After` for a rejected request. */
export function retryAfter(verdict: Verdict, now: number): string {
  return String(Math.max(1, secondsLeft(verdict, now)));
}

function secondsLeft({ resetsAt }: Verdict, now: number): number {
  return Math.max(0, Math.ceil((resetsAt - now) / 1000));
}
