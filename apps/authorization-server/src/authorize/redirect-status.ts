import type { ProviderMiddleware } from '../provider/provider-middleware.ts';

/** The specification's reply to a GET is 302; after a POST it is 303, so that a body is never sent on (RFC 9700 §4.12). */
export const redirectStatus: ProviderMiddleware = async (context, next) => {
  await next();
  if (context.status === 303 && context.method === 'GET') {
    context.status = 302;
  }
};
