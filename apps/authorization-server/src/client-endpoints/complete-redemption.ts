import type { ProviderMiddleware } from '../provider/provider-middleware.ts';
import type { Redemptions } from '../provider/redemptions.ts';

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
