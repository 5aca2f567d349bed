import { observedRequest } from '@gatehouse/http-server';
import type { Store } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import { clientAddress } from '../http/client-address.ts';
import { createCounterStore } from './counter-store.ts';
import { REQUEST_WINDOW_SECONDS } from './limits.ts';

/**
 * How often one address may call the client endpoints, all of them together (RL-03: over all processes). A store
 * that is away is an error, and so 503: an endpoint that is not counted is not served (RL-04).
 */
export function limitRequests(
  store: Store,
  settings: {
    readonly requestsPerMinute: number;
    /** Writes the 429; `Retry-After` and the RateLimit headers are set already. */
    readonly refuse: (request: Request, response: Response) => void;
  },
): RequestHandler {
  return rateLimit({
    windowMs: REQUEST_WINDOW_SECONDS * 1000,
    limit: settings.requestsPerMinute,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    passOnStoreError: false,
    store: createCounterStore(store, {
      prefix: 'requests:address:',
      windowSeconds: REQUEST_WINDOW_SECONDS,
    }),
    keyGenerator: (request) => clientAddress(request),
    handler: (request, response) => {
      observedRequest(request).notes.code = 'too_many_requests';
      settings.refuse(request, response);
    },
  });
}
