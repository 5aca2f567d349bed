import type { Store } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { type LimitedEndpoints, limitRequests } from './limit-requests.ts';
import { DEFAULT_CLIENT_REQUESTS_PER_MINUTE, DEFAULT_PAGE_REQUESTS_PER_MINUTE } from './limits.ts';

export interface EndpointLimits {
  readonly clientEndpoints: RequestHandler;
  readonly introspection: RequestHandler;
  readonly pages: RequestHandler;
}

export interface EndpointLimitSettings {
  /** From one address group, to the client endpoints; introspection has the same limit of its own. */
  readonly clientRequestsPerMinute?: number;
  /** From one address group, to the pages. */
  readonly pageRequestsPerMinute?: number;
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
  const {
    clientRequestsPerMinute = DEFAULT_CLIENT_REQUESTS_PER_MINUTE,
    pageRequestsPerMinute = DEFAULT_PAGE_REQUESTS_PER_MINUTE,
    replies,
  } = settings;
  const limitOf = (name: LimitedEndpoints, requestsPerMinute: number, reply: LimitReply) =>
    limitRequests(store, {
      name,
      requestsPerMinute,
      reply(request, response) {
        settings.onLimited();
        reply(request, response);
      },
    });
  return {
    clientEndpoints: limitOf('client-endpoints', clientRequestsPerMinute, replies.client),
    introspection: limitOf('introspection', clientRequestsPerMinute, replies.client),
    pages: limitOf('pages', pageRequestsPerMinute, replies.page),
  };
}
