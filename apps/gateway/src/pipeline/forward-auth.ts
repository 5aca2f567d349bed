/**
 * Forward auth (`/_verify`): another proxy asks whether it may forward a request, and forwards it
 * itself. The request that it asks about passes the stages of a request that the gateway forwards.
 * This file reads the question and writes the answer. Deliberately not here: any check of a
 * credential.
 */
import type { IncomingMessage } from 'node:http';
import { ApiError, type FailureReasonName, illegalArgument } from '@gatehouse/errors';
import type { Settings } from '@gatehouse/identity';
import { hasBody, unmappedAddress } from '@gatehouse/server';
import { parseRequestTarget, signedPart } from '@gatehouse/signing';
import { bearerChallenge, protectiveHeaders, type Reply } from '../messages.ts';
import { browserHeaders, cookieNames, readCookie } from './browser-request.ts';
import type { Exchange, Pipeline } from './exchange.ts';
import { requiredRoute } from './required-route.ts';
import { admittedOf, assertServedMethod, setMatch, unrouted } from './stages.ts';

const PATH = '/_verify';
const NO_BODY = Buffer.alloc(0);

export function isVerification({ url = '' }: Pick<IncomingMessage, 'url'>): boolean {
  return url.startsWith(PATH) && (url.length === PATH.length || /[?/]/.test(url[8] ?? ''));
}

/** @throws ApiError if the peer is not a trusted proxy, or its request is ambiguous */
export async function readVerification(
  exchange: Exchange,
  { router, isTrustedProxy, settings }: Pipeline,
): Promise<undefined> {
  const { message, notes } = exchange;
  if (!isTrustedProxy(unmappedAddress(message.socket.remoteAddress ?? ''))) {
    throw new ApiError('access_denied', {
      message: 'Only a proxy whose address is in TRUSTED_PROXIES may ask for a verification.',
      reason: 'verification_peer_untrusted',
    });
  }
  if (hasBody(message)) {
    const problem = { property: 'body', message: 'must not be sent to /_verify' };
    throw illegalArgument([problem], 'verification_invalid');
  }
  const { method, target } = readOriginalRequest(message.headersDistinct);
  // Envoy appends path and query of the original request (`/_verify/…`), which the caller chose.
  const { url = '' } = message;
  const query = url.startsWith(`${PATH}?`) ? url.slice(PATH.length + 1) : '';
  const current = await settings.read();
  const required = query === '' ? undefined : requiredRoute(query, current);
  exchange.browser = required?.browser;
  exchange.browserToken =
    required?.browser && readCookie(message.headers, cookieNames(required.browser).session);
  exchange.askedResource = resourceAt(message.headers['x-forwarded-host'], target.path, current);
  exchange.method = method;
  exchange.target = target;
  assertServedMethod(exchange);
  notes.method = method;
  // A trailing slash counts: the proxy does not remove it when it forwards the request.
  setMatch(exchange, required === undefined ? router.find(method, target) : { entry: required });
}

/** Only names the metadata in a challenge. It gives no right, so callers may choose the host. */
function resourceAt(host: unknown, path: string, { resources }: Settings): string | undefined {
  if (typeof host !== 'string' || host.includes('/')) {
    return undefined;
  }
  const requested = `//${host}${path}/`;
  return [...resources.keys()]
    .filter((resource) => requested.startsWith(`${resource.replace(/^https?:/, '')}/`))
    .sort((one, other) => other.length - one.length)[0];
}

/** A browser signs in with a session instead of a credential. */
export function answerBrowser(exchange: Exchange, pipeline: Pipeline) {
  const { browser, route } = exchange;
  return browser && route && pipeline.browserSignIn(exchange, browser, route, pipeline);
}

/**
 * Rejects credentials that the gateway can only check for requests that it forwards itself.
 *
 * @throws ApiError `signed_body_not_verifiable`: the proxy asks without the body, and the gateway
 *   cannot know that there is none. `unauthorized` for a token in the query, which the proxy would
 *   pass on to the service
 */
export function assertVerifiable({ credential, method }: Exchange): undefined {
  if (credential.kind === 'signature' && signedPart(method, undefined) !== 'query') {
    throw new ApiError('signed_body_not_verifiable', { headers: bearerChallenge() });
  }
  if (credential.kind === 'bearer' && credential.place === 'query') {
    throw new ApiError('unauthorized', {
      message: 'The token is in the URL. Send it as "Authorization: Bearer".',
      headers: bearerChallenge('invalid_request'),
      reason: 'token_in_query',
    });
  }
}

/**
 * Rejects a version 1 query with a repeated parameter. The signature covers `a=1&a=2` and `a=1,2`
 * as the same text. The gateway forwards one form of it, but the proxy forwards what it received.
 *
 * @throws ApiError `ambiguous_request`
 */
export function assertSameParameters({ target, verified }: Exchange): undefined {
  // The form that the gateway would forward.
  const query = verified?.query ?? '';
  if (target.query !== query && countPairs(target.query) !== countPairs(query)) {
    throw new ApiError('ambiguous_request', {
      message: 'The signature does not tell repeated parameters apart. Use version 2.',
      reason: 'signed_parameter_repeated',
    });
  }
}

function countPairs(query: string): number {
  return query.split('&').filter((pair) => pair !== '').length;
}

/** @throws ApiError `not_found` or `method_not_allowed` if the gateway would forward nothing */
export function assertForwarded({ route, match }: Exchange): undefined {
  if (route?.upstream === undefined) {
    throw unrouted(match);
  }
}

/** The answer for an authorized caller. */
export async function permit(exchange: Exchange, { issueInternalToken }: Pipeline): Promise<Reply> {
  const { verified, route } = admittedOf(exchange);
  const { clientId, subject, orgId, scopes } = verified.principal;
  const token = await issueInternalToken(verified, route);
  return {
    // Not 204: Envoy accepts only 200.
    status: 200,
    headers: [
      ...protectiveHeaders,
      ...['Authorization', `Bearer ${token}`],
      ...['X-Auth-Client-Id', clientId],
      ...['X-Auth-Subject', subject],
      ...['X-Auth-Organization', orgId],
      ...['X-Auth-Scope', [...scopes].join(' ')],
      ...browserHeaders(exchange),
    ],
    body: NO_BODY,
  };
}

/** A proxy sends one pair. nginx and HAProxy send the first, Traefik and Caddy the second. */
const pairs = [
  { method: 'X-Original-Method', uri: 'X-Original-URI' },
  { method: 'X-Forwarded-Method', uri: 'X-Forwarded-Uri' },
] as const;

/**
 * An encoded letter, digit, `-`, `_` or `~`. Two servers can differ in whether they decode it
 * before they choose a handler (RFC 3986 §6.2.2.2), and the proxy forwards the path as it is.
 */
const NEEDLESS_ESCAPE = /%(?:3\d|4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a]|2d|5f|7e)/i;

/**
 * Reads method and URI of the original request. A proxy sets one pair of headers and passes on what
 * the caller sent of the other, so the gateway never chooses between them.
 */
function readOriginalRequest(sent: SentHeaders) {
  const isSent = (name: string) => sent[name.toLowerCase()] !== undefined;
  const [pair, other] = pairs.filter(({ method, uri }) => isSent(method) || isSent(uri));
  if (pair === undefined) {
    const [{ method, uri }] = pairs;
    throw refusal('verification_invalid', method, `is missing, and so is ${uri}`);
  }
  if (other !== undefined) {
    throw refusal('verification_invalid', other.uri, `was sent together with ${pair.uri}`);
  }
  const method = requireValue(pair.method, sent);
  const target = parseRequestTarget(requireValue(pair.uri, sent));
  if (NEEDLESS_ESCAPE.test(target.sentPath)) {
    const message = 'must not percent-encode a letter, a digit, "-", "_" or "~"';
    throw refusal('target_invalid', 'path', message);
  }
  return { method, target };
}

type SentHeaders = IncomingMessage['headersDistinct'];

function requireValue(name: string, sent: SentHeaders): string {
  const [value = '', second] = sent[name.toLowerCase()] ?? [];
  if (second !== undefined) {
    throw refusal('verification_invalid', name, 'was sent twice');
  }
  if (value === '') {
    throw refusal('verification_invalid', name, 'is missing or empty');
  }
  return value;
}

function refusal(reason: FailureReasonName, property: string, message: string): ApiError {
  return illegalArgument([{ property, message }], reason);
}
