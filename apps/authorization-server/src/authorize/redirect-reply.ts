import type { IncomingMessage } from 'node:http';
import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

/**
 * The specification replies to a GET with 302. After a POST it is 303, so that the browser never
 * forwards the body (RFC 9700 §4.12). A space is written as %20: a client that only percent-decodes
 * gets its `state` unchanged.
 */
export const redirectReply: ProviderMiddleware = async (context, next) => {
  await next();
  const location = context.res.getHeader('Location');
  if (typeof location !== 'string') {
    return;
  }
  const [address = '', ...answer] = location.split(/([?#])/);
  const rest = answer.join('').replaceAll('+', '%20');
  const isError = rest.startsWith('?') && new URLSearchParams(rest).has('error');
  const needsFragment = isError && !rest.includes('#') && mayHaveFragment(context.req);
  context.set('Location', address + rest + (needsFragment ? '#_' : ''));
  if (context.status === 303 && ['GET', 'HEAD'].includes(context.method)) {
    context.status = 302;
  }
};

/**
 * A browser appends the fragment of the address that it came from, which can hold a token of
 * another server (RFC 9700 §4.1.3). An empty fragment in the reply prevents this. Only a browser
 * that another site sent here needs it: after our own pages, and for a typed address, there is no
 * foreign fragment. Browsers send Sec-Fetch-Site, except old ones and those on plain http. The
 * User-Agent of every browser begins with Mozilla.
 */
function mayHaveFragment({ headers }: IncomingMessage): boolean {
  const { 'sec-fetch-site': site, 'user-agent': agent = '' } = headers;
  return agent.startsWith('Mozilla/') && site !== 'same-origin' && site !== 'none';
}
