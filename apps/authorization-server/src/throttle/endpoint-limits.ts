import type { Store } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import { writeRefusal } from '../client-endpoints/transport.ts';
import { sendErrorPage } from '../pages/error-page.ts';
import { type LimitedEndpoints, limitRequests } from './limit-requests.ts';
import { DEFAULT_CLIENT_REQUESTS_PER_MINUTE, DEFAULT_PAGE_REQUESTS_PER_MINUTE } from './limits.ts';

export interface EndpointLimits {
  readonly clientEndpoints: RequestHandler;
  readonly introspection: RequestHandler;
  readonly pages: RequestHandler;
}

export interface EndpointLimitSettings {
  /** From one address group, to the client endpoints; as many again to introspection. */
  readonly clientRequestsPerMinute?: number;
  /** From one address group, to the pages. */
  readonly pageRequestsPerMinute?: number;
  /** Called for each request that a limit refuses. */
  readonly onRefused: () => void;
}

/** Limits every endpoint that can write by address group, so that anonymous traffic cannot fill the store. */
export function createEndpointLimits(
  store: Store,
  settings: EndpointLimitSettings,
): EndpointLimits {
  const {
    clientRequestsPerMinute = DEFAULT_CLIENT_REQUESTS_PER_MINUTE,
    pageRequestsPerMinute = DEFAULT_PAGE_REQUESTS_PER_MINUTE,
  } = settings;
  const limitOf = (
    name: LimitedEndpoints,
    requestsPerMinute: number,
    refuse: (request: Request, response: Response) => void,
  ) =>
    limitRequests(store, {
      name,
      requestsPerMinute,
      refuse(request, response) {
        settings.onRefused();
        refuse(request, response);
      },
    });
  return {
    clientEndpoints: limitOf('client-endpoints', clientRequestsPerMinute, refuseClient),
    introspection: limitOf('introspection', clientRequestsPerMinute, refuseClient),
    pages: limitOf('pages', pageRequestsPerMinute, (request, response) =>
      sendErrorPage(request, response, 429, 'tooManyRequests'),
    ),
  };
}

function refuseClient(request: Request, response: Response): void {
  const description = 'Too many requests from this address. Try again later.';
  writeRefusal(request, response, { status: 429, error: 'too_many_requests', description });
}
