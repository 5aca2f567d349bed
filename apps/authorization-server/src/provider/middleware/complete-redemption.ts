import type { RepliedUse } from '../adapters/single-use.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/**
 * Before a successful reply is sent: from then on, the code or token that was redeemed counts as
 * used. The grace of a refresh token begins after its reply, because a client that gets no reply
 * needs the token again. If that mark is lost, only the use of the successor ends the grace.
 */
export function completeRedemption(
  redemptions: RepliedUse,
  rotation: RepliedUse,
): ProviderMiddleware {
  return async (context, next) => {
    await next();
    // A redirect uses up a pushed request.
    if (context.status < 400) {
      await redemptions.complete(context.req);
      context.res.once('finish', () => {
        if (context.res.statusCode < 400) {
          rotation.complete(context.req).catch(() => {});
        }
      });
    }
  };
}
