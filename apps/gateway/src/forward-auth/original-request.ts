import type { FailureReasonName } from '@gatehouse/errors';
import { type ApiError, illegalArgument } from '@gatehouse/errors';
import { parseRequestTarget, type RequestTarget } from '@gatehouse/signing';

/** The request that a proxy asks about. */
export interface OriginalRequest {
  readonly method: string;
  readonly target: RequestTarget;
}

/** A proxy sends one pair. nginx and HAProxy send the first, Traefik and Caddy the second. */
const pairs = [
  { method: 'X-Original-Method', uri: 'X-Original-URI' },
  { method: 'X-Forwarded-Method', uri: 'X-Forwarded-Uri' },
] as const;

const names: ReadonlySet<string> = new Set(
  pairs.flatMap(({ method, uri }) => [method.toLowerCase(), uri.toLowerCase()]),
);

/**
 * An encoded letter, digit, `-`, `_` or `~`. Two servers can differ in whether they decode it
 * before they choose a handler (RFC 3986 §6.2.2.2), and the proxy forwards the path as it is.
 */
const NEEDLESS_ESCAPE = /%(?:3\d|4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a]|2d|5f|7e)/i;

/**
 * Reads method and URI of the original request. A proxy sets one pair of headers and passes on what
 * the caller sent of the other, so the gateway never chooses between them.
 *
 * @throws ApiError `illegal_argument`
 */
export function readOriginalRequest(rawHeaders: readonly string[]): OriginalRequest {
  const found = findHeaders(rawHeaders);
  const [pair, other] = pairs.filter(
    ({ method, uri }) => found.has(method.toLowerCase()) || found.has(uri.toLowerCase()),
  );
  if (pair === undefined) {
    const [{ method, uri }] = pairs;
    throw refusal('verification_invalid', method, `is missing, and so is ${uri}`);
  }
  if (other !== undefined) {
    throw refusal('verification_invalid', other.uri, `was sent together with ${pair.uri}`);
  }
  const method = requireValue(found, pair.method);
  const target = parseRequestTarget(requireValue(found, pair.uri));
  if (NEEDLESS_ESCAPE.test(target.sentPath)) {
    const message = 'must not percent-encode a letter, a digit, "-", "_" or "~"';
    throw illegalArgument([{ property: 'path', message }], 'target_invalid');
  }
  return { method, target };
}

function findHeaders(rawHeaders: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    // Most headers have another length, so their names are not compared.
    if (given.length < 14 || given.length > 18) {
      continue;
    }
    const name = given.toLowerCase();
    if (names.has(name)) {
      if (found.has(name)) {
        throw refusal('verification_invalid', given, 'was sent twice');
      }
      found.set(name, rawHeaders[index + 1] ?? '');
    }
  }
  return found;
}

function requireValue(found: ReadonlyMap<string, string>, name: string): string {
  const value = found.get(name.toLowerCase()) ?? '';
  if (value === '') {
    throw refusal('verification_invalid', name, 'is missing or empty');
  }
  return value;
}

function refusal(reason: FailureReasonName, property: string, message: string): ApiError {
  return illegalArgument([{ property, message }], reason);
}
