import { providerRoutes } from '../http/provider-routes.ts';
import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';
import { postLogoutAddress } from './post-logout-address.ts';

/**
 * Nobody is signed in: there is nothing to ask and nothing to end. The library answers with a page that submits
 * itself by an inline script, which our policy does not run.
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
