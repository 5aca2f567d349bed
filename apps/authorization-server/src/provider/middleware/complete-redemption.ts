import type { Redemptions } from '../adapters/redemptions.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/**
 * Before a successful reply is sent: from then on, the code or token that was redeemed counts as
 * used.
 */
export function completeRedemption(redemptions: Redemptions): ProviderMiddleware {
  return async (context, next) => {
    await next();
    // A redirect uses up a pushed request.
    if (context.status < 400) {
      await redemptions.complete(context.req);
    }
  };
}
