/**
 * The account page: profile, applications with access and their revocation, change of password,
 * sign-out everywhere. A browser without a session goes through the ordinary sign-in, as a client
 * of this server (provider/clients.ts), and returns with the same session. Every form
 * carries a token of the session, and every reply to a form is a 303. logout/ signs out of this
 * browser only.
 */
import type { Identity } from '@gatehouse/identity';
import { type Request, type Response, Router } from 'express';
import type Provider from 'oidc-provider';
import type { CsrfTokens } from '../pages/csrf-token.ts';
import { sendErrorPage } from '../pages/error-page.ts';
import { formField, parseForm } from '../pages/form-field.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { rejectMethods } from '../pages/reject-methods.ts';
import type { CookieOptions } from '../provider/browser-state.ts';
import { requestOrigin } from '../requests/caller.ts';
import type { DeviceCookies } from '../throttle/device-cookie.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import { createAccountSessions, type SignedIn } from './account-session.ts';
import { accountView } from './account-view.ts';
import { createGrantedApplications } from './applications.ts';
import { createEndEverything } from './end-everything.ts';
import { addPasswordRoutes } from './password-routes.ts';
import { pageAfterSignIn } from './sign-in-address.ts';
import { addSignOutEverywhereRoutes } from './sign-out-everywhere-routes.ts';
import { createSignedInPages } from './signed-in-pages.ts';

export interface AccountDependencies {
  readonly provider: Provider;
  readonly identity: Identity;
  readonly csrfTokens: CsrfTokens;
  readonly signIn: SignIn;
  readonly deviceCookies: DeviceCookies;
  readonly issuer: string;
  /** Attributes of the session's cookie. */
  readonly cookie: CookieOptions;
}

export function createAccountRoutes(dependencies: AccountDependencies): Router {
  const { provider, identity, csrfTokens, issuer } = dependencies;
  const sessions = createAccountSessions(provider, identity, dependencies.cookie);
  const applications = createGrantedApplications(provider, identity);
  const endEverything = createEndEverything(identity, applications);
  const pages = createSignedInPages({ sessions, csrfTokens, issuer });
  const router = Router({ caseSensitive: true, strict: true });

  router.get('/', pages.page(showAccount));
  addPasswordRoutes(router, { ...dependencies, sessions, endEverything, pages });

  // The end of the sign-in. Without a session, another redirect would loop, so the page reports it.
  router.get('/signed-in', async (request, response) => {
    if ((await sessions.current(request, response)) === undefined) {
      sendErrorPage(request, response, 400, 'cookiesNeeded');
      return;
    }
    response.redirect(303, pageAfterSignIn(request.query.state));
  });

  router.post(
    '/revoke',
    parseForm,
    pages.form(async (request, response, signedIn) => {
      const { userId } = signedIn.user;
      const clientId = formField(request, 'client');
      const grantIds = await applications.revoke(userId, clientId);
      if (grantIds.length > 0) {
        const event = { event: 'grant_revoked', userId, clientId, grantIds } as const;
        identity.audit.record(event, requestOrigin(request));
      }
      response.redirect(303, '/account?done=revoked');
    }),
  );

  addSignOutEverywhereRoutes(router, { ...dependencies, sessions, endEverything, pages });

  async function showAccount(
    request: Request,
    response: Response,
    signedIn: SignedIn,
  ): Promise<void> {
    const { language, texts } = pageLanguage(request);
    const { user } = signedIn;
    const organization = await identity.organizations.find(user.orgId);
    const content = accountView(
      {
        user,
        organizationName: organization?.name ?? user.orgId,
        applications: await applications.list(user.userId),
        done: request.query.done,
        csrfToken: csrfTokens.issue(signedIn.formOwner),
      },
      texts,
      language,
    );
    const title = texts.accountTitle;
    response.type('html').end(renderPage({ language, title, content, wide: true }));
  }

  router.use(rejectMethods(router));
  return router;
}
