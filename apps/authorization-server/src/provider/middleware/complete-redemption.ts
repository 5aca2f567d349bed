import type { RepliedUse } from '../adapters/single-use.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/**
 * Before a successful reply is sent: from then on, the code or token that was redeemed counts as
 * used.
 */
export function completeRedemption(...uses: readonly RepliedUse[]): ProviderMiddleware {
  return async (context, next) => {
    await next();
    // A redirect uses up a pushed request.
    if (context.status < 400) {
      await Promise.all(uses.map((use) => use.complete(context.req)));
    }
  };
}
