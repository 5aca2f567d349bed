/**
 * OpenID Connect RP-Initiated Logout. /logout asks for confirmation, its form ends the session and
 * its grants (provider/patches.ts), and the browser returns to the application or to
 * the last page. A request that only an application of the session can make is not asked, and
 * without a signed-in user there is nothing to ask. Any other GET changes nothing.
 */

import type { Identity } from '@gatehouse/identity';
import { foreignName, html, sentence } from '@gatehouse/server';
import type { Configuration, KoaContextWithOIDC, Session } from 'oidc-provider';
import { listOf } from '../pages/languages.ts';
import { formTargetsOf, linkButton, showPage, textsFor, xsrfField } from '../pages/page.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import type { ProviderMiddleware } from '../provider/library.ts';
import { endSession } from '../provider/patches.ts';
import { contextOf } from '../requests/request-context.ts';
import { providerRoutes } from '../requests/routes.ts';
import { assertParametersFit } from '../throttle/stored-budgets.ts';

type Logout = NonNullable<NonNullable<Configuration['features']>['rpInitiatedLogout']>;

export function logout({ clients, users, upstreamLinks, settings }: Identity): Logout {
  return {
    enabled: true,
    async logoutSource(context) {
      const { session, params } = context.oidc;
      if (isFromApplication(context)) {
        await endSession(context);
        return;
      }
      assertStateFits(session);
      const texts = textsFor(context, params?.ui_locales);
      const user = await users.find(session?.accountId ?? '');
      contextOf(context.req).orgId = user?.orgId ?? '';
      const granted = Object.entries(session?.authorizations ?? {}).filter(
        ([id, { grantId }]) => grantId !== undefined && id !== ACCOUNT_CLIENT_ID,
      );
      const items = await Promise.all(
        granted.map(async ([id]) => {
          const client = await clients.find(id);
          return html`<li>${foreignName(client?.name ?? id)}</li>`;
        }),
      );
      const name = html`<strong>${foreignName(user?.name ?? '')}</strong>`;
      const returnsTo = postLogoutAddress(session);
      const { upstreams } = await settings.read();
      const linked = await upstreamLinks.list(session?.accountId ?? '');
      const names = linked.flatMap((id) => upstreams.get(id)?.name ?? []);
      const providers = listOf(names, texts, 'disjunction');
      const elsewhere = sentence(texts.logoutKeepsUpstreams, { providers: foreignName(providers) });
      const content = html`<p class="lead">${sentence(texts.logoutLead, { name })}</p>
<p class="before-list">${items.length === 0 ? texts.logoutEndsNothing : texts.logoutEnds}</p>
${items.length === 0 ? undefined : html`<ul class="plain-list">${items}</ul>`}
<form method="post" action="${providerRoutes.end_session}/confirm">
${xsrfField(session)}
<button class="primary" type="submit" name="logout" value="yes">${texts.signOut}</button>
</form>
${linkButton(returnsTo ?? '/account', texts.staySignedIn)}
<p class="small">${texts.logoutKeepsDevices}</p>
${providers === '' ? undefined : html`<p class="small">${elsewhere}</p>`}`;
      const formTargets = formTargetsOf(returnsTo);
      showPage(context, { texts, title: texts.logoutTitle, content, formTargets });
    },
    postLogoutSuccessSource(context) {
      const texts = textsFor(context, context.oidc.params?.ui_locales);
      const content = html`<p>${texts.signedOut}</p>
${linkButton('/account', texts.signInAgain)}`;
      showPage(context, { texts, title: texts.signedOutTitle, content });
    },
  };
}

/**
 * Whether an application of this session asks: it presents an ID token of the session, which the
 * library has verified, and a registered address to return to. A stranger has no such token. One of
 * another user, or of an earlier session, leads to the question.
 */
function isFromApplication({ oidc }: KoaContextWithOIDC): boolean {
  const { session, params, client } = oidc;
  const hint = oidc.entities.IdTokenHint?.payload;
  if (hint === undefined || session === undefined || client === undefined) {
    return false;
  }
  const { clientId } = client;
  const isOfSession = session.authorizations?.[clientId] !== undefined;
  const isSameSession = hint.sid === undefined || hint.sid === session.sidFor(clientId);
  const isSameUser = hint.sub === session.accountId;
  return (
    isSameUser && isOfSession && isSameSession && params?.post_logout_redirect_uri !== undefined
  );
}

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

/** The registered post-logout redirect URI of the request, with its `state`. */
function postLogoutAddress(session: Session | undefined): string | undefined {
  const { postLogoutRedirectUri, state } = session?.state ?? {};
  const url = typeof postLogoutRedirectUri === 'string' ? URL.parse(postLogoutRedirectUri) : null;
  if (url === null) {
    return undefined;
  }
  if (typeof state === 'string') {
    url.searchParams.set('state', state);
  }
  return url.href;
}

/**
 * The parameters are kept in the session until the user answers. @throws InvalidRequest when they
 * are too long
 */
function assertStateFits(session: Session | undefined): void {
  try {
    assertParametersFit(session?.state);
  } catch (error) {
    if (session !== undefined) {
      session.state = undefined;
    }
    throw error;
  }
}
