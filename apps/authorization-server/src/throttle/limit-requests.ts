import { observedRequest } from '@gatehouse/http-server';
import { createRateLimiter, type RateLimiter, type Store } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { type Store as RateLimitStore, rateLimit } from 'express-rate-limit';
import { addressGroupOf } from '../http/address-group-of.ts';
import { REQUEST_WINDOW_SECONDS } from './limits.ts';

/** Endpoints that count together. */
export type LimitedEndpoints = 'client-endpoints' | 'introspection' | 'pages';

/**
 * Limits the requests of one address group to a set of endpoints, counted in the store for all
 * processes (RL-03). Each process leases permits, so that not every request costs a write. Without
 * a permit and without a store, the request is an error and becomes 503: an endpoint that cannot
 * count does not serve (RL-04).
 */
export function limitRequests(
  store: Store,
  settings: {
    readonly name: LimitedEndpoints;
    readonly requestsPerMinute: number;
    /** Writes the 429. `Retry-After` and the RateLimit headers are already set. */
    readonly reply: (request: Request, response: Response) => void;
  },
): RequestHandler {
  const limit = { requests: settings.requestsPerMinute, windowSeconds: REQUEST_WINDOW_SECONDS };
  return rateLimit({
    windowMs: limit.windowSeconds * 1000,
    limit: limit.requests,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    identifier: 'address',
    keyGenerator: addressGroupOf,
    store: countWithLeases(createRateLimiter(settings.name, limit, { store, now: Date.now })),
    passOnStoreError: false,
    handler(request, response) {
      const { notes } = observedRequest(request);
      notes.code = 'too_many_requests';
      notes.reason = 'request_limit';
      settings.reply(request, response);
    },
  });
}

/** A request that was counted stays counted, so only `increment` has work to do. */
function countWithLeases(limiter: RateLimiter): RateLimitStore {
  return {
    async increment(address) {
      const { allowed, remaining, resetsAt } = await limiter.take(address);
      const { requests } = limiter.limit;
      return {
        totalHits: allowed ? requests - remaining : requests + 1,
        resetTime: new Date(resetsAt),
      };
    },
    decrement: () => undefined,
    resetKey: () => undefined,
  };
}
