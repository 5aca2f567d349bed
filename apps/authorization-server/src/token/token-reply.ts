import type { ProviderMiddleware } from '../provider/provider-middleware.ts';

/** RFC 6749 §5.1 and the specification: every reply of the token endpoint, errors included. */
export const tokenReplyHeaders = {
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
  'Content-Type': 'application/json;charset=UTF-8',
} as const;

const TOKEN_PATH = '/token';

/** Where the library's reply differs from the specification, after it and before it is written. */
export const tokenReply: ProviderMiddleware = async (context, next) => {
  await next();
  if (context.path !== TOKEN_PATH) {
    return;
  }
  context.set(tokenReplyHeaders);
  // The library answers every origin with *; origins are the clients' to register.
  context.remove('Access-Control-Allow-Origin');
  context.remove('Access-Control-Expose-Headers');
  if (context.status === 401) {
    context.set('WWW-Authenticate', `Basic realm="${TOKEN_PATH}", charset="UTF-8"`);
  }
  if (context.status === 503) {
    context.set('Retry-After', '1');
  }
};
