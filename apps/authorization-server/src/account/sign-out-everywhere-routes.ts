import type { Identity } from '@gatehouse/identity';
import type { Request, Response, Router } from 'express';
import type { CsrfTokens } from '../pages/csrf-token.ts';
import { parseForm } from '../pages/form-field.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { requestOrigin } from '../requests/caller.ts';
import type { AccountSessions } from './account-session.ts';
import type { EndEverything } from './end-everything.ts';
import { signOutEverywhereView } from './sign-out-everywhere-view.ts';
import type { SignedInPages } from './signed-in-pages.ts';
import { signedOutEverywhereView } from './signed-out-everywhere-view.ts';

/** The confirmation page, its form, which signs the user out everywhere, and the page after it. */
export function addSignOutEverywhereRoutes(
  router: Router,
  dependencies: {
    readonly identity: Identity;
    readonly csrfTokens: CsrfTokens;
    readonly sessions: AccountSessions;
    readonly endEverything: EndEverything;
    readonly pages: SignedInPages;
  },
): void {
  const { identity, csrfTokens, sessions, endEverything, pages } = dependencies;

  router.get(
    '/sign-out-everywhere',
    pages.page((request, response, signedIn) => {
      const { language, texts } = pageLanguage(request);
      const content = signOutEverywhereView(csrfTokens.issue(signedIn.formOwner), texts);
      const title = texts.everywhereQuestion;
      response.type('html').end(renderPage({ language, title, content }));
    }),
  );

  router.post(
    '/sign-out-everywhere',
    parseForm,
    pages.form(async (request, response, { user, session }) => {
      await endEverything(user.userId);
      await sessions.end(request, response, session);
      const { userId } = user;
      identity.audit.record(
        { event: 'sign_out', userId, everywhere: true },
        requestOrigin(request),
      );
      response.redirect(303, '/account/signed-out');
    }),
  );

  router.get('/signed-out', showSignedOutEverywhere);
}

function showSignedOutEverywhere(request: Request, response: Response): void {
  const { language, texts } = pageLanguage(request);
  const content = signedOutEverywhereView(texts);
  const title = texts.signedOutEverywhereTitle;
  response.type('html').end(renderPage({ language, title, content }));
}
