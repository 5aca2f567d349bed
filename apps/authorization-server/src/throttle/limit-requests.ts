import { observedRequest } from '@gatehouse/http-server';
import { createRateLimiter, type Store, type Verdict } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { clientAddress } from '../http/client-address.ts';
import { REQUEST_WINDOW_SECONDS } from './limits.ts';

/** Endpoints that count together. */
export type LimitedEndpoints = 'client-endpoints' | 'introspection' | 'pages';

/**
 * Limits the requests of one address group to a set of endpoints, counted in the store for all processes (RL-03). Each
 * process leases permits, so that not every request costs a write. Without a permit and without a store, the request is
 * an error and becomes 503: an endpoint that cannot count does not serve (RL-04).
 */
export function limitRequests(
  store: Store,
  settings: {
    readonly name: LimitedEndpoints;
    readonly requestsPerMinute: number;
    /** Writes the 429; `Retry-After` and the RateLimit headers are set already. */
    readonly refuse: (request: Request, response: Response) => void;
  },
): RequestHandler {
  const limit = { requests: settings.requestsPerMinute, windowSeconds: REQUEST_WINDOW_SECONDS };
  const limiter = createRateLimiter(settings.name, limit, { store, now: Date.now });
  const policy = `"address";q=${limit.requests};w=${limit.windowSeconds}`;

  return (request, response, next) => {
    // draft-ietf-httpapi-ratelimit-headers-08: quota, window; remaining, seconds until it is whole again.
    const answer = ({ allowed, remaining, resetsAt }: Verdict) => {
      const seconds = Math.max(0, Math.ceil((resetsAt - Date.now()) / 1000));
      response.setHeader('RateLimit-Policy', policy);
      response.setHeader('RateLimit', `"address";r=${remaining};t=${seconds}`);
      if (allowed) {
        next();
        return;
      }
      response.setHeader('Retry-After', String(Math.max(1, seconds)));
      observedRequest(request).notes.code = 'too_many_requests';
      settings.refuse(request, response);
    };
    const verdict = limiter.take(clientAddress(request));
    return verdict instanceof Promise ? verdict.then(answer) : answer(verdict);
  };
}
