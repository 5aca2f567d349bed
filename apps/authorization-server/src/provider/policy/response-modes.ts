import type { ProviderMiddleware } from '../middleware/provider-middleware.ts';

/** The library always registers `form_post` as well; its page needs an inline script, which ours never have. */
export const responseModes: readonly string[] = ['query', 'fragment'];

/** Discovery tells the truth (RFC 8414): what no client may use is not named. */
export const nameServedResponseModes: ProviderMiddleware = async (context, next) => {
  await next();
  const { body } = context;
  if (typeof body === 'object' && body !== null && 'response_modes_supported' in body) {
    context.body = { ...body, response_modes_supported: responseModes };
  }
};
