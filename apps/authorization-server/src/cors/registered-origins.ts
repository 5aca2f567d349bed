import type { IncomingMessage } from 'node:http';
import type { RegisteredOrigins } from '@gatehouse/identity';
import type { RequestHandler } from 'express';
import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

/**
 * CORS for the origins that clients registered (RFC 9700 §2.6). A preflight names no client, so it is answered
 * for an origin of any client; the request itself is checked against its own client by the provider.
 */
const PREFLIGHT_SECONDS = '600';

/** Before an endpoint that browser applications call. An origin nobody registered is as good as none. */
export function allowRegisteredOrigins(
  origins: RegisteredOrigins,
  methods: string,
): RequestHandler {
  return async (request, response, next) => {
    const { origin } = request.headers;
    const registered = origin !== undefined && (await origins.has(origin));
    if (!registered) {
      delete request.headers.origin;
    }
    if (request.method !== 'OPTIONS') {
      next();
      return;
    }
    response.set('Vary', 'Origin');
    if (registered) {
      response.set({
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': 'Authorization, Content-Type',
        'Access-Control-Max-Age': PREFLIGHT_SECONDS,
      });
    }
    response.set('Allow', `${methods}, OPTIONS`).status(204).end();
  };
}

/**
 * The provider asks once it knows the client, and would refuse the request. An origin of another client's is as good
 * as none: the request is answered, and the browser keeps the answer from the page.
 */
export function forgetForeignOrigin(
  { req }: { readonly req: IncomingMessage },
  origin: string,
  registered: unknown,
): true {
  if (!(Array.isArray(registered) && registered.includes(origin))) {
    delete req.headers.origin;
  }
  return true;
}

/** The library answers a request without Origin with `*`: what no browser asked for is not said. */
export const removeForeignOrigins: ProviderMiddleware = async (context, next) => {
  await next();
  if (context.req.headers.origin === undefined) {
    context.remove('Access-Control-Allow-Origin');
    context.remove('Access-Control-Expose-Headers');
  }
};
