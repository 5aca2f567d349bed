import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

/** RFC 6749 §5.1 and the specification: every reply of a client endpoint, errors included. */
export const replyHeaders = {
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
  'Content-Type': 'application/json;charset=UTF-8',
} as const;

export const challengeClient = 'Basic realm="gatehouse", charset="UTF-8"';

/** Corrects the library's replies where they differ from the specification. */
export function clientEndpointReply(paths: readonly string[]): ProviderMiddleware {
  return async (context, next) => {
    await next();
    if (context.status === 503) {
      context.set('Retry-After', '1');
    }
    if (!paths.includes(context.path)) {
      return;
    }
    if (context.body === '') {
      // RFC 7009 §2.2 gives the reply to a revocation no content, but some clients parse it as JSON.
      context.body = {};
    }
    context.set(replyHeaders);
    if (context.status === 401) {
      context.set('WWW-Authenticate', challengeClient);
    }
    if (context.status === 413) {
      context.set('Connection', 'close');
    }
  };
}
