/**
 * The session of a browser, and the ways into the account: handlers run only for a signed-in user,
 * and the handlers of forms only with the token of that session.
 */

import { hash, randomBytes } from 'node:crypto';
import { acrLevel, acrOfMethods, type Identity, TWO_FACTORS, type User } from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import type { Request, RequestHandler, Response } from 'express';
import type { Provider, Session } from 'oidc-provider';
import { sendErrorPage } from '../pages/error-page.ts';
import {
  type CsrfTokens,
  csrfField,
  formField,
  hasCookies,
  linkButton,
  type Page,
  parseForm,
  sendPage,
  textsFor,
} from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { atAccount, isFactorAsked } from '../provider/authentication-context.ts';
import { cookieOptions } from '../provider/browser-state.ts';
import { ACCOUNT_CLIENT_ID, SIGNED_IN_PATH } from '../provider/clients.ts';
import { isSessionOf, sessionLifetime } from '../provider/times-to-live.ts';
import { contextOf } from '../requests/request-context.ts';
import { providerRoutes } from '../requests/routes.ts';

/** The signed-in user of this browser. */
export interface SignedIn {
  readonly user: User;
  readonly session: Session;
  /** The token of this session's forms. It changes at every sign-in. */
  readonly csrfToken: string;
}

/** A page of the account, or one of its forms. */
export interface AccountPage extends SignedIn {
  readonly request: Request;
  readonly response: Response;
  readonly texts: Texts;
  /** The field with the token of a form. */
  readonly csrf: Html;
  /** With a link back to the account page. */
  readonly send: (title: string, content: Html, more?: Partial<Page>) => void;
  /** Returns to the account page, which reports what was done. */
  readonly finish: (done: keyof Texts['accountNotices']) => void;
}

export type Handler = (page: AccountPage) => Promise<void> | void;

/** What a page needs in addition, so that an attacker with an open session cannot use it. */
export type Recent = 'recentSignIn';

const RECENT_SECONDS = 10 * 60;

export type AccountSessions = ReturnType<typeof createAccountSessions>;

export function createAccountSessions(dependencies: {
  readonly provider: Provider;
  readonly identity: Identity;
  readonly csrfTokens: CsrfTokens;
  readonly issuer: string;
}) {
  const { provider, identity, csrfTokens, issuer } = dependencies;
  const cookie = cookieOptions(issuer.startsWith('https:'));

  function setCookie(request: Request, response: Response, session: Session | null): void {
    const { cookies } = provider.createContext(request, response);
    // As the library does it: the user did not want to stay signed in.
    const isKept = session !== null && session.transient !== true;
    const expires = isKept ? { expires: new Date(session.exp * 1000) } : {};
    cookies.set(provider.cookieName('session'), session?.jti ?? null, { ...cookie, ...expires });
  }

  const formOwner = ({ user, session }: Pick<SignedIn, 'user' | 'session'>) =>
    ['session', session.uid, user.userId, session.loginTs].join(' ');

  async function current(request: Request, response: Response): Promise<SignedIn | undefined> {
    const session = await provider.Session.get(provider.createContext(request, response));
    const user = await identity.users.find(session.accountId ?? '');
    return isSessionOf(user, session)
      ? { user, session, csrfToken: csrfTokens.issue(formOwner({ user, session })) }
      : undefined;
  }

  async function openPage(request: Request, response: Response): Promise<AccountPage | undefined> {
    const signedIn = await current(request, response);
    return signedIn && toPage(signedIn, request, response);
  }

  /** If the sign-in is too weak or not recent enough, the user signs in again and returns. */
  const withRecent =
    (handle: Handler, recent: Recent | undefined): Handler =>
    async (page) => {
      const missing = await missingSignIn(page, recent, identity);
      if (missing !== undefined) {
        const { request, response } = page;
        response.redirect(303, signInAddress(issuer, request.baseUrl + request.path, missing));
        return;
      }
      await handle(page);
    };

  return {
    current,

    /** Ends the session with its grants, and deletes its cookie. */
    async end(request: Request, response: Response, session: Session): Promise<void> {
      await session.destroy();
      setCookie(request, response, null);
    },

    /**
     * Continues with a new session id, as if the user signed in right after the not-before (ASVS
     * 7.2.4).
     */
    async renew(request: Request, response: Response, user: User, session: Session): Promise<void> {
      // Everything issued up to the user's not-before is invalid.
      session.loginAccount({ accountId: user.userId, loginTs: user.notBefore + 1 });
      session.resetIdentifier();
      await session.save(sessionLifetime(await identity.settings.read(), session));
      setCookie(request, response, session);
    },

    /** A page of the signed-in user. Other browsers are redirected to the sign-in. */
    page: (handle: Handler, recent?: Recent): RequestHandler => {
      const handleRecent = withRecent(handle, recent);
      return async (request, response) => {
        const page = await openPage(request, response);
        if (page === undefined) {
          response.redirect(303, signInAddress(issuer, request.baseUrl + request.path));
          return;
        }
        await handleRecent(page);
      };
    },

    /** A form of the signed-in user. Without the token of this session, it is rejected. */
    form: (handle: Handler, recent?: Recent): RequestHandler[] => {
      const handleRecent = withRecent(handle, recent);
      const submit: RequestHandler = async (request, response) => {
        const page = await openPage(request, response);
        if (page === undefined) {
          const next = { address: '/account', label: 'signInAgain' } as const;
          const message = hasCookies(request) ? 'wasSignedOut' : 'formRefused';
          sendErrorPage(request, response, 403, message, next);
        } else if (csrfTokens.verify(formOwner(page), formField(request, 'csrf'))) {
          await handleRecent(page);
        } else {
          sendErrorPage(request, response, 403, 'formRefused');
        }
      };
      return [parseForm, submit];
    },
  };
}

/** It has the brand of the user's organization. */
function toPage(signedIn: SignedIn, request: Request, response: Response): AccountPage {
  contextOf(request).orgId = signedIn.user.orgId;
  const texts = textsFor(request);
  return {
    ...{ ...signedIn, request, response, texts, csrf: csrfField(signedIn.csrfToken) },
    send(title, form, more) {
      const content = html`${form}
${linkButton('/account', texts.backToAccount)}`;
      sendPage(response, { texts, title, content, ...more });
    },
    finish: (done) => response.redirect(303, `/account?done=${done}`),
  };
}

/** The page replies with 404 where an operator does not allow it. */
export const whileAllowed =
  (isAllowed: (page: AccountPage) => Promise<boolean>) =>
  (handle: Handler): Handler =>
  async (page) => {
    if (await isAllowed(page)) {
      await handle(page);
    } else {
      sendErrorPage(page.request, page.response, 404, 'notFound');
    }
  };

/**
 * The parameters of a new sign-in, if the session is too weak for the page: it can come from a client
 * that asks for no second factor. With `recent`, the page also needs a sign-in of the last ten
 * minutes, with a passkey if the user has no other factor. Undefined if the session suffices.
 */
async function missingSignIn(
  { user, session }: SignedIn,
  recent: Recent | undefined,
  identity: Identity,
) {
  const isRecent = recent !== undefined;
  const isAsked = await isFactorAsked(user, atAccount, identity, isRecent);
  const age = Math.floor(Date.now() / 1000) - (session.loginTs ?? 0);
  const isOld = isRecent && age > RECENT_SECONDS;
  const isWeak = isAsked && acrLevel(session.acr) < acrLevel(TWO_FACTORS);
  const again = { prompt: 'login', login_hint: user.username };
  const asked = isAsked ? { ...again, acr_values: TWO_FACTORS } : again;
  return isOld || isWeak ? asked : undefined;
}

/** After the user proved a second factor in a recent session, by these methods (RFC 8176). */
export async function strengthen(
  session: Session,
  methods: readonly string[],
  { settings }: Identity,
): Promise<void> {
  const amr = [...new Set([...(session.amr ?? []), ...methods, 'mfa'])];
  Object.assign(session, { amr, acr: acrOfMethods(amr) });
  await session.save(sessionLifetime(await settings.read(), session));
}

export const CHANGE_PASSWORD_PATH = '/account/password';
export const PROFILE_PATH = '/account/profile';
export const FACTORS_PATH = '/account/second-factor';
export const PASSKEYS_PATH = '/account/passkeys';
export const EMAIL_PATH = '/account/email';
export const REMOVE_ACCOUNT_PATH = '/account/remove';

/** The pages that a browser returns to. Any other address would be an open redirect. */
const pages: readonly string[] = [
  ...[CHANGE_PASSWORD_PATH, PROFILE_PATH, FACTORS_PATH, PASSKEYS_PATH],
  ...[EMAIL_PATH, REMOVE_ACCOUNT_PATH],
];

/**
 * The address to which the account page sends a browser that is not signed in. The sign-in only
 * creates the session. Its code is never redeemed, and cannot be: the verifier is discarded here
 * (RFC 7636).
 */
function signInAddress(
  issuer: string,
  wanted: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: ACCOUNT_CLIENT_ID,
    redirect_uri: issuer + SIGNED_IN_PATH,
    scope: 'openid',
    state: pages.find((path) => wanted.startsWith(path)) ?? '/account',
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
    ...more,
  });
  return `${providerRoutes.authorization}?${query}`;
}

/** The page that the user requested before the sign-in. */
export function pageAfterSignIn(state: unknown): string {
  return pages.find((path) => path === state) ?? '/account';
}
