import type { ProviderMiddleware } from '../provider/provider-middleware.ts';

/**
 * The specification's reply to a GET is 302; after a POST it is 303, so that a body is never sent on
 * (RFC 9700 §4.12). A space goes out as %20: a client that only percent-decodes gets its `state` unchanged.
 */
export const redirectReply: ProviderMiddleware = async (context, next) => {
  await next();
  const location = context.res.getHeader('Location');
  if (typeof location !== 'string') {
    return;
  }
  const [address = '', ...answer] = location.split(/([?#])/);
  context.set('Location', address + answer.join('').replaceAll('+', '%20'));
  if (context.status === 303 && context.method === 'GET') {
    context.status = 302;
  }
};
