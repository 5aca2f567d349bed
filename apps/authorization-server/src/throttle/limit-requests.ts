import { observedRequest } from '@gatehouse/http-server';
import { createRateLimiter, type Store, type Verdict } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { clientAddress } from '../http/client-address.ts';
import { REQUEST_WINDOW_SECONDS } from './limits.ts';

/**
 * How often one address may call the client endpoints, all of them together (RL-03: over all processes, each of
 * which leases permits). Where no permit is left and the store is away, it is an error, and so 503: an endpoint that
 * is not counted is not served (RL-04).
 */
export function limitRequests(
  store: Store,
  settings: {
    readonly requestsPerMinute: number;
    /** Writes the 429; `Retry-After` and the RateLimit headers are set already. */
    readonly refuse: (request: Request, response: Response) => void;
  },
): RequestHandler {
  const limit = { requests: settings.requestsPerMinute, windowSeconds: REQUEST_WINDOW_SECONDS };
  const limiter = createRateLimiter('client-endpoints', limit, { store, now: Date.now });
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
