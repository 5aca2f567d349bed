/**
 * Establishes who sent a request. `presentedCredential` (packages/signing) finds the one credential
 * of a request, and its kind selects the verifier (signed-request, tokens). A bad credential never
 * falls through to another verifier. Deliberately not here: permissions (pipeline).
 */
import { ApiError } from '@gatehouse/errors';
import type { AccessTokenVerifier, FindTokenKind, Principal } from '@gatehouse/identity';
import { explanationOf, similarHeader } from '@gatehouse/signing';
import { bearerChallenge } from '../messages.ts';
import { createSignedRequestVerifier, type SignedRequestDependencies } from './signed-request.ts';
import { verifyBearerToken, verifyXAccessToken } from './tokens.ts';
import type { AuthenticationRequest, VerifiedRequest } from './verified-request.ts';

/** Throws or rejects with an ApiError for a bad credential. */
export type Authenticate = (request: AuthenticationRequest) => Promise<VerifiedRequest>;

export function createAuthenticate(
  dependencies: SignedRequestDependencies & {
    readonly verifyXAccessToken: AccessTokenVerifier;
    readonly verifyAccessToken: AccessTokenVerifier;
    readonly findTokenKind: FindTokenKind;
  },
): Authenticate {
  const verifySignature = createSignedRequestVerifier(dependencies);
  const xAccessTokens = { ...dependencies, verify: shareInFlight(dependencies.verifyXAccessToken) };
  const bearerTokens = { ...dependencies, verify: shareInFlight(dependencies.verifyAccessToken) };
  return (request) => {
    const { credential, message } = request;
    switch (credential.kind) {
      case 'signature':
        return verifySignature(request, credential.signature);
      case 'access-token':
        return verifyXAccessToken(request, credential.value, xAccessTokens);
      case 'bearer':
        return verifyBearerToken(credential, bearerTokens);
      default:
        throw noCredential(message.rawHeaders);
    }
  };
}

function noCredential(rawHeaders: readonly string[]): ApiError {
  const headers = bearerChallenge();
  const similar = similarHeader(rawHeaders);
  if (similar === undefined) {
    return new ApiError('unauthorized', { headers });
  }
  const reason = 'credential_header_misnamed';
  const hint = `Send the credential as "${similar.meant}".`;
  return new ApiError('unauthorized', {
    message: `The request has no credential, but the header ${similar.name}. ${hint}`,
    result: { ...explanationOf(reason), hint },
    headers,
    reason,
  });
}

/** A longer verification is not shared: the store is slow, and its result may be outdated. */
const JOINABLE_MILLISECONDS = 20;

/**
 * Concurrent requests with the same token share one verification. A busy token costs one store read
 * per round trip instead of one per request. The result is not cached, so the next request notices
 * a revocation or an unavailable store.
 */
export function shareInFlight(verify: AccessTokenVerifier): AccessTokenVerifier {
  // Two generations of maps, whose entries are never deleted. Constant deletion makes V8 chain old
  // hash tables, which the garbage collector must then traverse.
  let young = new Map<string, RunningVerification>();
  let old = young;
  let startedAt = 0;

  return (token) => {
    const now = performance.now();
    if (now - startedAt >= JOINABLE_MILLISECONDS) {
      old = young;
      young = new Map();
      startedAt = now;
    }
    const joinable = young.get(token) ?? old.get(token);
    if (joinable?.isRunning && now - joinable.startedAt < JOINABLE_MILLISECONDS) {
      return joinable.answer;
    }
    const verification = { startedAt: now, answer: verify(token), isRunning: true };
    const end = () => {
      verification.isRunning = false;
    };
    verification.answer.then(end, end);
    young.set(token, verification);
    return verification.answer;
  };
}

interface RunningVerification {
  readonly startedAt: number;
  readonly answer: Promise<Principal | undefined>;
  isRunning: boolean;
}
