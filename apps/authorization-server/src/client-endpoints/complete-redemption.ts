import type { Redemptions } from '../provider/adapters/redemptions.ts';
import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

/** Before a successful answer leaves: from then on, the code or token that was redeemed counts as used. */
export function completeRedemption(redemptions: Redemptions): ProviderMiddleware {
  return async (context, next) => {
    await next();
    // A pushed request is used up by a redirect.
    if (context.status < 400) {
      await redemptions.complete(context.req);
    }
  };
}
