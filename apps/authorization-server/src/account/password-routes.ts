import type { Identity } from '@gatehouse/identity';
import type { Request, Response, Router } from 'express';
import type { CsrfTokens } from '../pages/csrf-token.ts';
import { noteFailure } from '../pages/error-page.ts';
import { formField, parseForm } from '../pages/form-field.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { formProblems } from '../pages/page-errors.ts';
import { addressGroupOf, requestOrigin } from '../requests/caller.ts';
import type { DeviceCookies } from '../throttle/device-cookie.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import type { AccountSessions, SignedIn } from './account-session.ts';
import { createChangePassword } from './change-password.ts';
import type { EndEverything } from './end-everything.ts';
import { type PasswordView, passwordView } from './password-view.ts';
import type { SignedInPages } from './signed-in-pages.ts';

type Failure = Partial<Pick<PasswordView, 'problem' | 'wrongField' | 'kept'>>;

/** The page that changes the password. This browser stays signed in with a new session id. */
export function addPasswordRoutes(
  router: Router,
  dependencies: {
    readonly identity: Identity;
    readonly csrfTokens: CsrfTokens;
    readonly sessions: AccountSessions;
    readonly signIn: SignIn;
    readonly deviceCookies: DeviceCookies;
    readonly endEverything: EndEverything;
    readonly pages: SignedInPages;
  },
): void {
  const { identity, csrfTokens, sessions, signIn, deviceCookies, endEverything, pages } =
    dependencies;
  const changePassword = createChangePassword(signIn, endEverything, identity);

  function show(
    request: Request,
    response: Response,
    signedIn: SignedIn,
    failure: Failure = {},
  ): void {
    const { language, texts } = pageLanguage(request);
    const csrfToken = csrfTokens.issue(signedIn.formOwner);
    const { username } = signedIn.user;
    const content = passwordView({ username, csrfToken, problem: undefined, ...failure }, texts);
    response.type('html').end(renderPage({ language, title: texts.changePassword, content }));
  }

  router.get(
    '/password',
    pages.page((request, response, signedIn) => show(request, response, signedIn)),
  );

  router.post(
    '/password',
    parseForm,
    pages.form(async (request, response, signedIn) => {
      const { texts } = pageLanguage(request);
      const change = {
        current: formField(request, 'current'),
        wanted: formField(request, 'wanted'),
        repeated: formField(request, 'repeated'),
      };
      const device = await deviceCookies.read(request, response);
      const origin = { address: addressGroupOf(request), device, request };
      const outcome = await changePassword(signedIn.user, change, origin);
      const { userId } = signedIn.user;
      if (outcome.kind === 'changed') {
        const event = { event: 'user_changed', userId, change: 'password_changed' } as const;
        identity.audit.record(event, requestOrigin(request));
        deviceCookies.issue(request, response, outcome.user);
        await sessions.renew(request, response, outcome.user, signedIn.session);
        response.redirect(303, '/account?done=password');
        return;
      }
      noteFailure(request, 'passwordRefused', formProblems.passwordRefused);
      response.status(422);
      // The page is not stored, and contains only what this request sent.
      const isCurrent = outcome.problem === 'passwordWrong';
      show(request, response, signedIn, {
        problem: texts[outcome.problem],
        wrongField: isCurrent ? 'current' : 'wanted',
        kept: isCurrent
          ? { current: '', wanted: change.wanted }
          : { current: change.current, wanted: '' },
      });
    }),
  );
}
