/**
 * The account page. Each section is in the file of what it shows: profile, access of browsers and
 * applications, password, data. A browser without a session goes through the ordinary sign-in, as a
 * client of this server (provider/clients.ts), and returns with the same session. Every form
 * carries a token of the session, and every reply to a form is a 303. sign-in/logout.ts signs out of
 * this browser only.
 */

import type { Identity } from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import { Router } from 'express';
import { rejectMethods, sendErrorPage } from '../pages/error-page.ts';
import { linkButton, sendPage } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { DeviceCookies } from '../throttle/device-cookie.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import type { UpstreamRoundTrips } from '../upstream/round-trips.ts';
import { addAccessForms, applicationsSection, browsersSection } from './access.ts';
import { addFactorPages, factorsSection } from './factors.ts';
import { addDataPages, dataSection } from './own-data.ts';
import type { PasskeyCeremonies } from './passkey-ceremony.ts';
import { addPasskeyPages, passkeysSection } from './passkeys.ts';
import { addPasswordPage } from './password.ts';
import { addProfilePages, profileSection } from './profile.ts';
import { type AccountSessions, CHANGE_PASSWORD_PATH, pageAfterSignIn } from './session.ts';
import { addSignOutEverywherePages } from './sign-out-everywhere.ts';
import { addUpstreamPages, upstreamsSection } from './upstreams.ts';

export interface AccountDependencies {
  readonly identity: Identity;
  readonly sessions: AccountSessions;
  readonly signIn: SignIn;
  readonly deviceCookies: DeviceCookies;
  readonly passkeyCeremonies: PasskeyCeremonies;
  /** For links that verify an address. Undefined without a mail server. */
  readonly mails: Identity['mails'] | undefined;
  readonly roundTrips: UpstreamRoundTrips;
}

export function createAccountRoutes(dependencies: AccountDependencies): Router {
  const { sessions } = dependencies;
  const router = Router({ caseSensitive: true, strict: true });
  addAccountPage(router, dependencies);
  addProfilePages(router, dependencies);
  addAccessForms(router, dependencies);
  addPasswordPage(router, dependencies);
  addFactorPages(router, dependencies);
  addPasskeyPages(router, dependencies);
  addDataPages(router, dependencies);
  addUpstreamPages(router, dependencies);
  addSignOutEverywherePages(router, dependencies);

  // The end of the sign-in. Without a session, another redirect would loop, so the page reports it.
  router.get('/signed-in', async (request, response) => {
    if ((await sessions.current(request, response)) === undefined) {
      sendErrorPage(request, response, 400, 'cookiesNeeded');
      return;
    }
    response.redirect(303, pageAfterSignIn(request.query.state));
  });

  router.use(rejectMethods(router));
  return router;
}

function addAccountPage(router: Router, dependencies: AccountDependencies): void {
  const { identity, sessions } = dependencies;
  router.get(
    '/',
    sessions.page(async (page) => {
      const { request, response, texts } = page;
      const { selfService } = await identity.settings.read();
      const heading = html`${notice(request.query.done, texts)}
<h1>${texts.accountTitle}</h1>`;
      const content = html`<p class="actions"><a class="button" href="${providerRoutes.end_session}">${texts.signOut}</a> <a class="button" href="${providerRoutes.code_verification}">${texts.connectDevice}</a></p>
${await profileSection(page, identity)}
${await browsersSection(page, identity)}
${await applicationsSection(page, identity)}
<section aria-labelledby="password">
<h2 id="password">${texts.password}</h2>
<p class="quiet">${texts.passwordLead}</p>
${linkButton(CHANGE_PASSWORD_PATH, texts.changePassword)}
</section>
${await factorsSection(page, identity)}
${await passkeysSection(page, dependencies)}
${await upstreamsSection(page, identity)}
${selfService.data ? dataSection(texts) : undefined}
<section aria-labelledby="everywhere">
<h2 id="everywhere">${texts.signOutEverywhere}</h2>
<p class="quiet">${texts.everywhereLead}</p>
${linkButton('/account/sign-out-everywhere', texts.signOutEverywhere)}
</section>`;
      sendPage(response, { texts, title: texts.accountTitle, heading, content, wide: true });
    }),
  );
}

/** The completed action, from the query. */
function notice(done: unknown, { accountNotices }: Texts): Html | undefined {
  return typeof done === 'string' && Object.hasOwn(accountNotices, done)
    ? html`<p class="success" role="status">${accountNotices[done as keyof typeof accountNotices]}</p>`
    : undefined;
}
