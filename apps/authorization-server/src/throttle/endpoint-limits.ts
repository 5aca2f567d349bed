import type { RateLimit, Store } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { type LimitedEndpoints, limitRequests } from './limit-requests.ts';
import { clientEndpointLimit, pageLimit } from './limits.ts';

export interface EndpointLimits {
  readonly clientEndpoints: RequestHandler;
  readonly introspection: RequestHandler;
  readonly pages: RequestHandler;
}

export interface EndpointLimitSettings {
  /** From one address group, to the client endpoints; introspection has the same limit of its own. */
  readonly clientRateLimit?: RateLimit;
  /** From one address group, to the pages. */
  readonly pageRateLimit?: RateLimit;
  /** Called for each request over a limit, before its reply. */
  readonly onLimited: () => void;
  /** Write the 429. */
  readonly replies: { readonly client: LimitReply; readonly page: LimitReply };
}

type LimitReply = (request: Request, response: Response) => void;

/**
 * Limits every endpoint that can write by address group, so that anonymous traffic cannot fill the
 * store.
 */
export function createEndpointLimits(
  store: Store,
  settings: EndpointLimitSettings,
): EndpointLimits {
  const { clientRateLimit = clientEndpointLimit, pageRateLimit = pageLimit, replies } = settings;
  const limitOf = (name: LimitedEndpoints, limit: RateLimit, reply: LimitReply) =>
    limitRequests(store, {
      name,
      limit,
      reply(request, response) {
        settings.onLimited();
        reply(request, response);
      },
    });
  return {
    clientEndpoints: limitOf('client-endpoints', clientRateLimit, replies.client),
    introspection: limitOf('introspection', clientRateLimit, replies.client),
    pages: limitOf('pages', pageRateLimit, replies.page),
  };
}
