import type { ProviderMiddleware } from '../provider/library.ts';
import { providerRoutes } from '../requests/routes.ts';
import { postLogoutAddress } from './post-logout-address.ts';

/**
 * Without a signed-in user, there is nothing to confirm. The library replies with a page that
 * submits itself with an inline script, which the Content-Security-Policy blocks.
 */
export const skipLogoutQuestion: ProviderMiddleware = async (context, next) => {
  await next();
  const { oidc } = context;
  const isQuestion = oidc?.route === 'end_session' && context.status === 200;
  if (isQuestion && oidc.session?.accountId === undefined) {
    context.body = '';
    context.redirect(postLogoutAddress(oidc.session) ?? `${providerRoutes.end_session}/success`);
  }
};
