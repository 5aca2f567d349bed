/**
 * OpenID Connect RP-Initiated Logout. /logout asks for confirmation, its form ends the session and
 * its grants (provider/patches.ts), and the browser returns to the application or to
 * the last page. A GET changes nothing for a signed-in user; skip-logout-question.ts redirects all
 * others at once.
 */
import type { Identity } from '@gatehouse/identity';
import type { Configuration, KoaContextWithOIDC, Session } from 'oidc-provider';
import { formTargets } from '../pages/form-targets.ts';
import type { Html } from '../pages/html.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { contentSecurityPolicy } from '../pages/page-headers.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { assertParametersFit } from '../provider/stored-budgets.ts';
import { logoutView, signedOutView } from './logout-views.ts';
import { postLogoutAddress } from './post-logout-address.ts';

type Logout = NonNullable<NonNullable<Configuration['features']>['rpInitiatedLogout']>;

export function logout({ clients, users }: Identity): Logout {
  return {
    enabled: true,
    async logoutSource(context) {
      const { session, params } = context.oidc;
      assertStateFits(session);
      const { texts } = pageLanguage(context, params?.ui_locales);
      const user = await users.find(session?.accountId ?? '');
      const names = await Promise.all(
        grantedClients(context).map(async (id) => (await clients.find(id))?.name ?? id),
      );
      const returnsTo = postLogoutAddress(session);
      const formTargetsOfPage = formTargets(returnsTo);
      context.set(
        'Content-Security-Policy',
        contentSecurityPolicy({ formTargets: formTargetsOfPage }),
      );
      const content = logoutView(
        {
          userName: user?.name ?? '',
          applicationNames: names,
          stayAddress: returnsTo ?? '/account',
          token: String(session?.state?.secret ?? ''),
        },
        texts,
      );
      show(context, texts.logoutTitle, content);
    },
    postLogoutSuccessSource(context) {
      const { texts } = pageLanguage(context);
      show(context, texts.signedOutTitle, signedOutView(texts));
    },
  };
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

/** The applications that hold a grant of this session. */
function grantedClients(context: KoaContextWithOIDC): readonly string[] {
  return Object.entries(context.oidc.session?.authorizations ?? {})
    .filter(([id, { grantId }]) => grantId !== undefined && id !== ACCOUNT_CLIENT_ID)
    .map(([id]) => id);
}

function show(context: KoaContextWithOIDC, title: string, content: Html): void {
  const { language } = pageLanguage(context, context.oidc.params?.ui_locales);
  context.type = 'html';
  context.body = renderPage({ language, title, content });
}
