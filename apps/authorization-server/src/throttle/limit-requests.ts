import { observedRequest } from '@gatehouse/server';
import {
  createRateLimiter,
  limitPolicy,
  limitState,
  type RateLimit,
  retryAfter,
  type Store,
} from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { addressGroupOf } from '../http/address-group-of.ts';

/** Endpoints that count together. */
export type LimitedEndpoints = 'client-endpoints' | 'introspection' | 'pages';

const POLICY_NAME = '"address"';

/**
 * Limits the requests of one address group to a set of endpoints, counted in the store for all
 * processes (RL-03). Each process leases permits, so that not every request costs a write. If the
 * process has no permit and the store is unavailable, the request gets 503 (RL-04).
 */
export function limitRequests(
  store: Store,
  settings: {
    readonly name: LimitedEndpoints;
    readonly limit: RateLimit;
    /** Writes the 429 and notes the reason. `Retry-After` and the RateLimit headers are set. */
    readonly reply: (request: Request, response: Response) => void;
  },
): RequestHandler {
  const { limit } = settings;
  const limiter = createRateLimiter(settings.name, limit, { store, now: Date.now });
  const policy = limitPolicy(POLICY_NAME, limit);
  return async (request, response, next) => {
    const verdict = await limiter.take(addressGroupOf(request));
    const now = Date.now();
    response.setHeader('RateLimit-Policy', policy);
    response.setHeader('RateLimit', limitState(POLICY_NAME, verdict, now));
    if (verdict.allowed) {
      next();
      return;
    }
    response.setHeader('Retry-After', retryAfter(verdict, now));
    observedRequest(request).notes.code = 'too_many_requests';
    settings.reply(request, response);
  };
}
