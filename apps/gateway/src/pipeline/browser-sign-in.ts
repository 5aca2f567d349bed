/**
 * Forward auth for browsers (`/_verify?browser=HOST`). The proxy asks about every request to the
 * host, and passes on what the gateway answers:
 *
 *   a page without a session, or with a weaker one than the proxy requires
 *                               ─▶ 302 to the authorization server, with a cookie for this sign-in
 *   /_gatehouse/callback        ─▶ redeems the code, 302 to that page with the cookie of the session
 *   a request with the session  ─▶ 200 with the identity of the user
 *   /_gatehouse/sign-out        ─▶ ends the session, 302 to the sign-out of the authorization server
 *   any other request           ─▶ 401
 *
 * Nothing is stored before the sign-in: `state` is encrypted for the host and the browser.
 */
import { createHmac, hash, randomBytes } from 'node:crypto';
import { ApiError } from '@gatehouse/errors';
import {
  acrLevel,
  BROWSER_CALLBACK_PATH,
  type BrowserHost,
  browserClientId,
  type Identity,
  isScopeForRoles,
  lifetimesOf,
  originOf,
  type Principal,
  type Settings,
} from '@gatehouse/identity';
import { createStoreBudget, retryAfter } from '@gatehouse/store';
import { shareInFlight } from '../authentication/authenticate.ts';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import { protectiveHeaders, type Reply } from '../messages.ts';
import type { Route } from '../routes/route.ts';
import { requestOrigin } from './audit.ts';
import {
  assertOwnRequest,
  cookieNames,
  isNavigation,
  isOwnRequest,
  readCookie,
  refusal,
  setCookie,
} from './browser-request.ts';
import type { Exchange, Pipeline } from './exchange.ts';

const OWN_PATHS = '/_gatehouse/';
const SIGN_OUT_PATH = '/_gatehouse/sign-out';
const SIGN_IN_SECONDS = 3600;
/** Longer addresses do not fit into `state`: the browser returns to the first page instead. */
const MAXIMUM_RETURN_CHARACTERS = 1024;
const SECRET = /^[A-Za-z0-9_-]{43}$/;
/** With its entries in the index of the grant. */
const SESSION_BYTES = 1024;

interface Dependencies {
  readonly identity: Identity;
  readonly authorizationServerUrl: string;
  readonly now: () => number;
}

export type BrowserSignIn = ReturnType<typeof createBrowserSignIn>;

export function createBrowserSignIn(dependencies: Dependencies) {
  const { identity } = dependencies;
  const verify = shareInFlight(identity.browserSessions.verify);
  const finishSignIn = createFinish(dependencies);

  async function answerOwnPath(exchange: Exchange, browser: BrowserHost, { limits }: Pipeline) {
    const { method, target, clientAddress, appliedLimits } = exchange;
    if (method !== 'GET') {
      throw new ApiError('method_not_allowed', { headers: { Allow: 'GET' } });
    }
    if (target.path === BROWSER_CALLBACK_PATH) {
      return finishSignIn(exchange, browser);
    }
    if (target.path !== SIGN_OUT_PATH) {
      throw new ApiError('not_found', { message: 'There is no such page.' });
    }
    await limits.countAddress(clientAddress, false, appliedLimits);
    return signOut(exchange, browser, dependencies);
  }

  /**
   * Verifies the session of the browser. A request with another credential is not of a browser.
   *
   * @returns a redirect for a browser that opens a page without a sufficient session
   * @throws ApiError `unauthorized` for other requests without a session, `access_denied` for a
   *   request that another site caused
   */
  return async (
    exchange: Exchange,
    browser: BrowserHost,
    route: Route,
    pipeline: Pipeline,
  ): Promise<Reply | undefined> => {
    const { browserToken: token, credential, target, notes } = exchange;
    const clientId = browserClientId(browser.host);
    if (target.path.startsWith(OWN_PATHS)) {
      notes.clientId = clientId;
      return answerOwnPath(exchange, browser, pipeline);
    }
    if (credential.kind !== 'none') {
      return undefined;
    }
    notes.clientId = clientId;
    const { clientAddress, appliedLimits, observed } = exchange;
    const found = token === undefined ? undefined : await verify(token);
    const isOwn = found?.clientId === clientId;
    // `authorize` challenges other requests with a weak session.
    const isWeak = isOwn && acrLevel(found.signIn?.acr) < acrLevel(route.acr);
    if ((!isOwn || isWeak) && isNavigation(exchange)) {
      await pipeline.limits.countAddress(clientAddress, token !== undefined, appliedLimits);
      return redirectToSignIn(exchange, browser, route, dependencies);
    }
    if (!isOwn) {
      throw refusal('unauthorized', 'browser_session_missing');
    }
    notes.credential = 'browser';
    notes.verifiedMs = performance.now() - observed.startedAt;
    exchange.verified = sessionOf(found, exchange, route, await identity.settings.read());
    assertOwnRequest(exchange, browser);
    // By user: one user must not use up the limit of the others.
    await pipeline.limits.countClient(`${clientId} ${found.subject}`, route, appliedLimits);
    return undefined;
  };
}

/** The session has the scope that the proxy requires, unless it is for roles that the user lacks. */
function sessionOf(
  principal: Principal,
  { target }: Exchange,
  { scope, resource }: Route,
  settings: Settings,
): VerifiedRequest {
  const roles = principal.user?.roles ?? [];
  const isAllowed = scope !== undefined && isScopeForRoles(scope, roles, settings);
  return {
    kind: 'browser',
    principal: { ...principal, scopes: new Set(isAllowed ? [scope] : []), resource },
    query: target.query,
  };
}

/** Starts a sign-in. Concurrent ones of a browser share the secret in its cookie. */
function redirectToSignIn(
  { message, target }: Exchange,
  browser: BrowserHost,
  { acr }: Route,
  { identity, authorizationServerUrl, now }: Dependencies,
): Reply {
  const { signIn } = cookieNames(browser);
  const known = readCookie(message.headers, signIn) ?? '';
  const secret = SECRET.test(known) ? known : randomBytes(32).toString('base64url');
  const page = target.query === '' ? target.sentPath : `${target.sentPath}?${target.query}`;
  const expiresAt = now() + SIGN_IN_SECONDS * 1000;
  const content = `${expiresAt} ${page.length > MAXIMUM_RETURN_CHARACTERS ? '/' : page}`;
  const state = identity.sealer.seal(content, stateContext(browser, secret));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: browserClientId(browser.host),
    redirect_uri: originOf(browser.host) + BROWSER_CALLBACK_PATH,
    scope: 'openid',
    state,
    code_challenge: hash('sha256', verifierOf(secret, state), 'base64url'),
    code_challenge_method: 'S256',
    // Essential: a sign-in that stays weaker must fail, because it would be redirected again.
    ...(acr && { claims: JSON.stringify({ id_token: { acr: { essential: true, value: acr } } }) }),
  });
  const cookie = setCookie(browser, signIn, secret, `; Max-Age=${SIGN_IN_SECONDS}`);
  return redirect(`${authorizationServerUrl}/authorize?${query}`, cookie);
}

/** The callback: redeems the code for a session. */
function createFinish({ identity, now }: Dependencies) {
  const { browserSessions, audit, sealer } = identity;
  const record = { bytes: SESSION_BYTES, windowSeconds: lifetimesOf({}).accessToken };
  const budget = createStoreBudget('browser-sessions', record, { ...identity, now });

  return async ({ message, target, clientAddress }: Exchange, browser: BrowserHost) => {
    const names = cookieNames(browser);
    const origin = originOf(browser.host);
    const clientId = browserClientId(browser.host);
    const query = new URLSearchParams(target.query);
    const state = query.get('state') ?? '';
    const secret = readCookie(message.headers, names.signIn) ?? '';
    const opened = SECRET.test(secret) && sealer.tryOpen(state, stateContext(browser, secret));
    const [expiresAt, returnTo] = (opened || '').split(' ');
    // Undefined unless this browser started the sign-in at this host.
    const page = now() < Number(expiresAt) ? returnTo : undefined;
    const redirectUri = origin + BROWSER_CALLBACK_PATH;
    const expected = { clientId, redirectUri, verifier: verifierOf(secret, state) };
    const redeemed = page && (await browserSessions.redeem(query.get('code') ?? '', expected));
    if (!redeemed) {
      const error = page && /^[a-z_]{1,40}$/.exec(query.get('error') ?? '')?.[0];
      const found = error
        ? `The authorization server reported ${error}.`
        : 'The sign-in did not begin in this browser, or has expired.';
      const message = `${found} Open ${origin}/ again.`;
      throw new ApiError('illegal_argument', { message, reason: 'browser_sign_in_invalid' });
    }
    const { token, principal } = redeemed;
    const { subject: userId, orgId } = principal;
    const full = await budget.take({ clientId: `${clientId} ${userId}`, orgId });
    if (full !== undefined) {
      await identity.revocations.token(token);
      const headers = { 'Retry-After': retryAfter(full, now()) };
      throw new ApiError('too_many_requests', { headers, reason: 'stored_state_limit' });
    }
    audit.record(
      { event: 'token_issued', grant: 'browser_session', clientId, userId },
      requestOrigin(message, clientAddress),
    );
    return redirect(origin + page, setCookie(browser, names.session, token));
  };
}

/** Other sites can link here. Only the application itself ends the session without a question. */
async function signOut(
  exchange: Exchange,
  browser: BrowserHost,
  { identity, authorizationServerUrl }: Dependencies,
): Promise<Reply> {
  const { message, browserToken, clientAddress } = exchange;
  const isWanted = isNavigation(exchange) && isOwnRequest(message.headers, browser);
  const revoked = isWanted && browserToken && (await identity.revocations.token(browserToken));
  if (revoked) {
    const event = { event: 'token_revoked', ...revoked } as const;
    identity.audit.record(event, requestOrigin(message, clientAddress));
  }
  const query = new URLSearchParams({
    client_id: browserClientId(browser.host),
    post_logout_redirect_uri: `${originOf(browser.host)}/`,
  });
  return redirect(`${authorizationServerUrl}/logout?${query}`);
}

/** Nobody but the gateway can read or make a state, and only this browser and host can use it. */
const stateContext = ({ host }: BrowserHost, secret: string) => `browser-sign-in:${host}:${secret}`;

/** The PKCE verifier of one sign-in. The state is public, the secret is in the cookie. */
const verifierOf = (secret: string, state: string) =>
  createHmac('sha256', secret).update(state).digest('base64url');

/** One cookie at most: nginx passes on no second one. */
function redirect(location: string, cookie?: string): Reply {
  const headers = [...protectiveHeaders, 'Location', location, 'Referrer-Policy', 'no-referrer'];
  const set = cookie === undefined ? [] : ['Set-Cookie', cookie];
  return { status: 302, headers: [...headers, ...set], body: Buffer.alloc(0) };
}
