import { DEFAULT_BODY_LIMIT_BYTES } from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';
import { acrLevel, type Principal } from '@gatehouse/identity';
import { allowedMethods, assertClearMessage, rejectedMessage } from '@gatehouse/server';
import { assertReadableQuery, parseRequestTarget, presentedCredential } from '@gatehouse/signing';
import { StoreUnavailableError } from '@gatehouse/store';
import { tokenForOtherResource } from '../authentication/tokens.ts';
import { switchingHeaders } from '../forwarding/open-reply.ts';
import { bearerChallenge, type Reply } from '../messages.ts';
import {
  type Entry,
  missingRight,
  type PublicEntry,
  type Route,
  type RouteMatch,
  routeOf,
} from '../routes/route.ts';
import type { Admitted, Exchange, Pipeline } from './exchange.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const served: ReadonlySet<string> = new Set(METHODS);

type Checked = Pick<Exchange, 'message' | 'method'>;

/** Clients that offer HTTP/2 continue with HTTP/1.1 if the server ignores this (RFC 9110 §7.8). */
export function assertNoUpgrade({ message: { headers } }: Checked): undefined {
  const { upgrade } = headers;
  if (upgrade !== undefined && upgrade.trim().toLowerCase() !== 'h2c') {
    const problem = { property: 'Upgrade', message: 'is not accepted here' };
    throw rejectedMessage({ ...problem, reason: 'upgrade_not_accepted' });
  }
}

/**
 * Rejects requests that no route can serve. This needs no credential, because it does not disclose
 * routes.
 */
export function assertServable(checked: Checked): undefined {
  assertServedMethod(checked);
  if (checked.message.headers['content-encoding'] !== undefined) {
    throw new ApiError('unsupported_media_type', { message: 'Send the body without an encoding.' });
  }
  assertClearMessage(checked.message);
}

export function assertServedMethod({ message, method }: Checked): undefined {
  if (!served.has(method) || message.url === '*') {
    throw new ApiError('method_not_allowed', { headers: { Allow: METHODS.join(', ') } });
  }
}

/**
 * Drops a trailing slash if only the path without it has an entry. Every later stage uses the target
 * of the exchange, so that the path that is authorized is the path that is forwarded.
 */
export function findRoute(exchange: Exchange, { router }: Pipeline): undefined {
  const { method } = exchange;
  let target = parseRequestTarget(exchange.message.url ?? '');
  let match = router.find(method, target);
  if (match === undefined && target.path.endsWith('/') && target.path !== '/') {
    const segments = target.segments.slice(0, -1);
    const shorter = { ...target, path: target.path.slice(0, -1), segments };
    match = router.find(method, shorter);
    target = match === undefined ? target : shorter;
  }
  exchange.target = target;
  setMatch(exchange, match);
}

export function setMatch(exchange: Exchange, match: RouteMatch): void {
  const route = routeOf(match);
  exchange.match = match;
  exchange.route = route;
  exchange.bodyLimitBytes = route?.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES;
}

/** Answers requests that need no credential: preflights (Fetch §4.8) and public documents. */
export function answerPublic(
  exchange: Exchange,
  pipeline: Pipeline,
): Promise<Reply | undefined> | undefined {
  const { match, method } = exchange;
  if (method === 'OPTIONS') {
    return answerPreflight(exchange, pipeline);
  }
  if (match?.entry !== undefined) {
    return 'read' in match.entry ? readDocument(match.entry, exchange, pipeline) : undefined;
  }
  // Only the public documents of the path may be disclosed.
  const others = match?.others.filter((entry) => 'read' in entry) ?? [];
  if (others.length > 0) {
    throw unrouted({ entry: undefined, others });
  }
  return undefined;
}

async function answerPreflight(
  { message, notes, clientAddress, appliedLimits }: Exchange,
  { crossOrigin, limits }: Pipeline,
): Promise<Reply | undefined> {
  const reply = await crossOrigin.answerPreflight(message);
  if (reply !== undefined) {
    notes.operation = 'preflight';
    await limits.countAddress(clientAddress, false, appliedLimits);
  }
  return reply;
}

async function readDocument(
  entry: PublicEntry,
  { message, method, target, notes, clientAddress, appliedLimits }: Exchange,
  { limits }: Pipeline,
): Promise<Reply> {
  notes.operation = entry.operation;
  // The documents need no store. While it cannot count requests, they are served without a limit.
  await limits.countAddress(clientAddress, false, appliedLimits).catch((error: unknown) => {
    if (!(error instanceof StoreUnavailableError)) {
      throw error;
    }
  });
  const reply = await entry.read(message, target.path);
  return method === 'HEAD' ? { ...reply, body: undefined } : reply;
}

/** Finds the credential, unless the address of the caller has exceeded its limit. */
export function readCredential(exchange: Exchange, { limits }: Pipeline): undefined {
  const { message, notes, route, target, clientAddress, appliedLimits } = exchange;
  notes.operation = route?.operation ?? 'unmatched';
  exchange.credential = presentedCredential(message.rawHeaders, target.query);
  const hasCredential = exchange.credential.kind !== 'none' || exchange.browserToken !== undefined;
  limits.assertAddressOpen(clientAddress, hasCredential, appliedLimits);
}

/** Verifies the credential, and counts the request for the client. */
export async function authenticate(exchange: Exchange, pipeline: Pipeline): Promise<undefined> {
  const { credential, target, notes, observed, route, appliedLimits } = exchange;
  if (credential.kind !== 'signature') {
    assertReadableQuery(target.query);
  }
  const startedAt = performance.now();
  let result = 'accepted';
  try {
    exchange.verified = await pipeline.authenticate(exchange);
  } catch (error) {
    result = error instanceof ApiError && error.status < 500 ? 'refused' : 'unavailable';
    throw error;
  } finally {
    if (credential.kind !== 'none') {
      const seconds = (performance.now() - startedAt) / 1000;
      pipeline.verificationDurations.of(credential.kind, result).observe(seconds);
    }
  }
  const { principal, kind, secureKeyId, practice } = exchange.verified;
  notes.clientId = principal.clientId;
  notes.userId = principal.userId;
  notes.credential = kind;
  notes.keyId = secureKeyId;
  pipeline.lastUse.noteClient(principal.clientId, secureKeyId);
  if (practice !== undefined) {
    pipeline.lastUse.notePractice(principal.clientId, practice, secureKeyId);
  }
  notes.verifiedMs = performance.now() - observed.startedAt;
  const counting = pipeline.limits.countClient(principal.clientId, route, appliedLimits);
  if (counting !== undefined) {
    await counting;
  }
}

/** Runs only after authentication, so that unauthenticated callers cannot discover routes. */
export function answerUnrouted({ method, match, route }: Exchange): Reply | undefined {
  if (route !== undefined) {
    return undefined;
  }
  if (match === undefined || match.entry !== undefined || method !== 'OPTIONS') {
    throw unrouted(match);
  }
  return { status: 204, headers: ['Allow', allowHeader(match.others)], body: undefined };
}

/**
 * Checks whether the caller may use the route. The device service decides who owns a device.
 *
 * @throws ApiError `unauthorized` for a kind of credential that the route does not accept, or a
 *   token for another API (RFC 8707 §2), or a sign-in that is too weak or too old,
 *   `access_denied` for a missing scope or role
 */
export function authorize(exchange: Exchange, { deviceApi, now }: Pipeline): undefined {
  const { verified, route } = admittedOf(exchange);
  // Only the verification for a browser accepts its session.
  if (verified.kind !== 'browser' && !route.credentials.includes(verified.kind)) {
    throw new ApiError('unauthorized', {
      message: 'This operation does not accept this kind of credential.',
      headers: bearerChallenge(),
      reason: 'credential_kind_not_accepted',
    });
  }
  const { resource } = verified.principal;
  // A token that names the device API is for the same routes as one that names no resource.
  const isBound = route.scope !== undefined && resource !== route.resource;
  if (isBound && (resource ?? deviceApi) !== (route.resource ?? deviceApi)) {
    throw tokenForOtherResource(resource ?? deviceApi, route.resource ?? deviceApi);
  }
  const missing = missingRight(route, verified.principal);
  if (missing === 'scope') {
    throw new ApiError('access_denied', {
      message: `This operation needs the scope ${route.scope}.`,
      headers: bearerChallenge('insufficient_scope', { scope: route.scope }),
      finding: `The operation needs the scope ${route.scope}.`,
    });
  }
  if (missing === 'role') {
    throw new ApiError('access_denied', {
      message: 'This operation needs a role that you do not have.',
      headers: bearerChallenge(),
      reason: 'role_missing',
      finding: `The operation needs one of the roles ${route.roles.join(', ')}.`,
    });
  }
  if (route.acr !== undefined || route.maxAge !== undefined) {
    assertSignedIn(route, verified.principal, now());
  }
}

/** RFC 9470 §3. Machines did not sign in. */
function assertSignedIn(
  { acr, maxAge }: Route,
  { signIn }: Principal,
  nowMilliseconds: number,
): void {
  const isStrong = signIn !== undefined && acrLevel(signIn.acr) >= acrLevel(acr);
  const age = nowMilliseconds / 1000 - (signIn?.authTime ?? 0);
  if (!isStrong || age > (maxAge ?? Number.POSITIVE_INFINITY)) {
    const needs = { acr_values: acr, max_age: maxAge };
    throw new ApiError('unauthorized', {
      message: 'The user has to sign in again, as WWW-Authenticate states.',
      headers: bearerChallenge('insufficient_user_authentication', needs),
      reason: 'user_authentication_insufficient',
    });
  }
}

/** Forwards the request to the upstream of its route, or issues an X-Access-Token. */
export function serve(exchange: Exchange, { forwarding, issueXAccessToken }: Pipeline) {
  const admitted = admittedOf(exchange);
  return admitted.route.upstream === undefined
    ? issueXAccessToken(admitted)
    : forwarding.forward(admitted);
}

export async function openWebSocket(exchange: Exchange, { forwarding }: Pipeline): Promise<Reply> {
  const admitted = admittedOf(exchange);
  if (!admitted.route.webSocket) {
    throw unrouted(undefined);
  }
  exchange.connection = await forwarding.openWebSocket(admitted);
  return { status: 101, headers: switchingHeaders(exchange.connection), body: undefined };
}

/** @throws ApiError `not_found` or `method_not_allowed` if no route serves the request */
export function admittedOf(exchange: Exchange): Admitted {
  if (exchange.route === undefined) {
    throw unrouted(exchange.match);
  }
  if (exchange.verified === undefined) {
    throw new Error('The request was not verified.');
  }
  return exchange as Admitted;
}

/** The error of a request that no route serves: 405 with `Allow` for a known path, otherwise 404. */
export function unrouted(match: RouteMatch): ApiError {
  if (match === undefined || match.entry !== undefined) {
    return new ApiError('not_found', { message: 'There is no such operation.' });
  }
  const allow = allowHeader(match.others);
  return new ApiError('method_not_allowed', {
    headers: { Allow: allow },
    finding: `The path accepts ${allow}.`,
  });
}

/** OPTIONS needs no route. */
function allowHeader(others: readonly Entry[]): string {
  return [...allowedMethods(others), 'OPTIONS'].join(', ');
}
