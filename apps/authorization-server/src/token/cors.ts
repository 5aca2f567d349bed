import type { IncomingMessage } from 'node:http';
import type { RegisteredOrigins } from '@gatehouse/identity';
import type { RequestHandler } from 'express';
import type { ProviderMiddleware } from '../provider/library.ts';

/**
 * CORS for the origins that clients registered (RFC 9700 §2.6). A preflight names no client, so the
 * origin of any client passes. The provider checks the request itself against its own client.
 */
const PREFLIGHT_SECONDS = '600';

/**
 * Precedes an endpoint that browser applications call. An unregistered origin is treated as absent.
 */
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
 * Called by the provider once it knows the client. The origin of another client is treated as
 * absent: the provider replies without CORS headers, and the browser hides the reply from the page.
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

/** The library replies with `*` to a request without Origin. This removes it. */
export const removeForeignOrigins: ProviderMiddleware = async (context, next) => {
  await next();
  if (context.req.headers.origin === undefined) {
    context.remove('Access-Control-Allow-Origin');
    context.remove('Access-Control-Expose-Headers');
  }
};
