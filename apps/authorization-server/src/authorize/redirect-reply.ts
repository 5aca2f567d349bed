import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

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
  const rest = answer.join('').replaceAll('+', '%20');
  context.set('Location', address + rest + emptyFragment(rest));
  if (context.status === 303 && ['GET', 'HEAD'].includes(context.method)) {
    context.status = 302;
  }
};

/**
 * An error that goes back in the query carries a fragment of its own: a browser would hand on the one of the
 * page before, and with it what stands in there (RFC 9700 §4.1.3).
 */
function emptyFragment(answer: string): string {
  const isError = answer.startsWith('?') && new URLSearchParams(answer).has('error');
  return isError && !answer.includes('#') ? '#_' : '';
}
