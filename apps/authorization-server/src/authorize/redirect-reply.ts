import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

/**
 * The specification replies to a GET with 302. After a POST it is 303, so that the browser never forwards the body
 * (RFC 9700 §4.12). A space is written as %20: a client that only percent-decodes gets its `state` unchanged.
 */
export const redirectReply: ProviderMiddleware = async (context, next) => {
  await next();
  const location = context.res.getHeader('Location');
  if (typeof location !== 'string') {
    return;
  }
  const [address = '', ...answer] = location.split(/([?#])/);
  const rest = answer.join('').replaceAll('+', '%20');
  context.set('Location', address + rest + emptyFragment(rest));
  if (context.status === 303 && ['GET', 'HEAD'].includes(context.method)) {
    context.status = 302;
  }
};

/**
 * An error in the query gets an empty fragment. Otherwise the browser would append the fragment of the previous page
 * (RFC 9700 §4.1.3).
 */
function emptyFragment(answer: string): string {
  const isError = answer.startsWith('?') && new URLSearchParams(answer).has('error');
  return isError && !answer.includes('#') ? '#_' : '';
}
