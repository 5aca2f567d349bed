/**
 * The way of an operator to a session, and out of it:
 *
 *   a screen without a session ─▶ begin: state in a Lax cookie ─▶ authorization server ─▶ /callback ─▶
 *   session in a Strict cookie, and a page that continues ─▶ the screen
 *
 * A redirect of another site does not carry the Strict cookie. So does a link in a chat: in both cases,
 * a page of the console opens the address again, and then the browser sends the cookie.
 */
import type { Identity } from '@gatehouse/identity';
import { addressGroup, expressAddress, html, observedRequest } from '@gatehouse/server';
import type { Express, RequestHandler } from 'express';
import type { Cookies } from '../session/cookies.ts';
import { type Issuer, IssuerRejectionError, type RoundTrip } from '../session/issuer.ts';
import type { Session, Sessions } from '../session/sessions.ts';
import { localAddress } from '../view/addresses.ts';
import { textsFor } from '../view/languages.ts';
import { assertOwnForm, FrameError } from './errors.ts';
import { type Exchange, noteOperation, type SendPage } from './send-page.ts';

/** Of one network. Each costs a request to the authorization server and a record of it. */
const SIGN_INS_PER_MINUTE = 30;
/** The window of a sign-in that is fresh enough for an act that destroys something. */
const FRESH_SECONDS = 5 * 60;

/** The names in log and metrics. */
export const signInOperations = ['sign-in', 'callback', 'signed-out', 'sign-out'] as const;

interface SignInDependencies {
  readonly identity: Identity;
  readonly issuer: Issuer;
  readonly sessions: Sessions;
  readonly cookies: Cookies;
  readonly sendPage: SendPage;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type SignIn = ReturnType<typeof createSignIn>;

/** Of an operator who is signed in. */
export type OpenedExchange = Exchange & { readonly session: Session };

type SessionHandler = (exchange: OpenedExchange) => Promise<void>;

export function createSignIn(dependencies: SignInDependencies) {
  const { issuer, sessions, cookies, sendPage, now } = dependencies;
  const begin = createBegin(dependencies);

  async function signOut({ request, response, session }: OpenedExchange): Promise<void> {
    assertOwnForm(request, session);
    const { key, idToken } = session;
    const address = idToken && (await issuer.signOutUrl(idToken).catch(() => undefined));
    await sessions.end(key);
    cookies.clearSession(response);
    response.redirect(303, address ? address.href : '/signed-out');
  }

  function sendSignedOut(exchange: Exchange, status = 200): void {
    const { signIn } = textsFor(exchange.request);
    const content = html`<p>${signIn.signedOut}</p>${signInLink('/', signIn.title)}`;
    sendPage(exchange, { status, title: signIn.signedOutTitle, content });
  }

  /**
   * Calls the handler with the session of the request. Without one, it begins a sign-in, or answers
   * 401 to a form or to the script of a page.
   */
  function withSession(handler: SessionHandler): RequestHandler {
    return async (request, response) => {
      const id = cookies.readSession(request);
      const isScript = request.get('sec-fetch-dest') === 'empty';
      const isPage = request.method !== 'POST' && !isScript;
      if (id === undefined && isPage && request.get('sec-fetch-site') === 'cross-site') {
        sendOnwards({ request, response }, request.originalUrl, sendPage);
        return;
      }
      const session = id === undefined ? undefined : await sessions.find(id, !isScript);
      if (session !== undefined) {
        await handler({ request, response, session });
        return;
      }
      if (id !== undefined) {
        cookies.clearSession(response);
      }
      if (isPage) {
        await begin({ request, response }, request.originalUrl);
      } else {
        sendSignedOut({ request, response }, 401);
      }
    };
  }

  return {
    withSession,

    /** Whether the operator entered the credentials a moment ago. */
    isFresh: ({ access }: Session) => (access.authTime ?? 0) * 1000 > now() - FRESH_SECONDS * 1000,

    /** Asks for a new sign-in, after which the address opens. */
    sendConfirmIdentity(exchange: OpenedExchange, next: string): void {
      const { signIn } = textsFor(exchange.request);
      const content = html`<p>${signIn.confirm}</p>${signInLink(next, signIn.confirmAgain, true)}`;
      sendPage(exchange, { status: 403, title: signIn.confirmTitle, content });
    },

    addRoutes(app: Express, form: RequestHandler): void {
      app.get('/sign-in', noteOperation('sign-in'), (request, response) =>
        begin({ request, response }, localAddress(request.query.next), request.query.fresh === '1'),
      );
      app.get('/callback', noteOperation('callback'), createCallback(dependencies));
      app.get('/signed-out', noteOperation('signed-out'), (request, response) =>
        sendSignedOut({ request, response }),
      );
      app.post('/sign-out', noteOperation('sign-out'), form, withSession(signOut));
    },
  };
}

/** Redirects to the authorization server. */
function createBegin({ identity, issuer, sessions, cookies, now }: SignInDependencies) {
  /** @throws FrameError `limit`, IssuerUnavailableError, StoreUnavailableError */
  return async ({ request, response }: Exchange, next: string, isFresh = false) => {
    const window = `console-sign-ins:address:${addressGroup(expressAddress(request))}`;
    const { count } = await identity.store.increment(window, 60);
    if (count > SIGN_INS_PER_MINUTE) {
      throw new FrameError('limit');
    }
    const id = cookies.readSession(request);
    const replaced = id === undefined ? undefined : await sessions.find(id, false);
    const roundTrip = issuer.newRoundTrip();
    const address = await issuer.begin(roundTrip, isFresh);
    cookies.writeSignIn(response, { ...roundTrip, next, replaces: replaced?.key, at: now() });
    response.redirect(303, address.href);
  };
}

/** The browser returns from the authorization server. */
function createCallback(dependencies: SignInDependencies): RequestHandler {
  const { issuer, sessions, cookies, sendPage } = dependencies;

  /** @returns the tokens of an operator, or why there are none */
  async function redeem(state: RoundTrip, query: string) {
    try {
      const tokens = await issuer.redeem(state, query);
      if ((await sessions.verify(tokens.accessToken)) !== undefined) {
        return tokens;
      }
      // Such a user gets no token, unless the role was removed a moment ago.
      await issuer.revoke(tokens.refreshToken ?? tokens.accessToken);
      return 'refused';
    } catch (error) {
      if (error instanceof IssuerRejectionError) {
        return error.code === 'invalid_scope' ? 'refused' : 'failed';
      }
      throw error;
    }
  }

  return async (request, response) => {
    const { signIn: texts } = textsFor(request);
    const { notes } = observedRequest(request);
    const state = cookies.takeSignIn(request, response);
    const [, query = ''] = request.originalUrl.split(/\?(.*)/s);
    const tokens = state === undefined ? 'failed' : await redeem(state, query);
    if (state === undefined || tokens === 'failed') {
      Object.assign(notes, { code: 'sign_in_expired', reason: 'sign_in_expired' });
      const content = html`<p>${texts.failed}</p>${signInLink('/', texts.title)}`;
      sendPage({ request, response }, { status: 400, title: texts.failedTitle, content });
      return;
    }
    if (tokens === 'refused') {
      Object.assign(notes, { code: 'access_denied', reason: 'role_missing' });
      const content = html`<p>${texts.refused}</p>${signInLink(state.next, texts.other, true)}`;
      sendPage({ request, response }, { status: 403, title: texts.refusedTitle, content });
      return;
    }
    if (state.replaces !== undefined) {
      await sessions.forget(state.replaces);
    }
    cookies.writeSession(response, await sessions.create(tokens));
    sendOnwards({ request, response }, state.next, sendPage);
  };
}

/** Opens an address of the console from a page of the console. */
function sendOnwards(exchange: Exchange, address: string, sendPage: SendPage): void {
  const { signIn } = textsFor(exchange.request);
  const content = html`<p class="actions"><a class="button primary" href="${address}">${signIn.continue}</a></p>`;
  sendPage(exchange, { title: signIn.continueTitle, content, continuesAt: address });
}

function signInLink(next: string, label: string, isFresh = false) {
  const query = new URLSearchParams({ next, ...(isFresh && { fresh: '1' }) });
  return html`<p class="actions"><a class="button primary" href="/sign-in?${query.toString()}">${label}</a></p>`;
}
