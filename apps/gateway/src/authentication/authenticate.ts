/**
 * Establishes who sent a request. `presentedCredential` (packages/signing) finds the one credential
 * of a request, and its kind selects the verifier: signed-request, x-access-token or bearer-token. A
 * bad credential never falls through to another verifier. Deliberately not here: permissions
 * (pipeline).
 */
import { ApiError } from '@gatehouse/errors';
import type {
  AccessTokenVerifier,
  ClientPrincipals,
  ClientRegistry,
  FindTokenKind,
  Principal,
  ReplayGuard,
} from '@gatehouse/identity';
import { type CredentialKind, explanationOf, similarHeader } from '@gatehouse/signing';
import { bearerChallenge } from '../messages.ts';
import { createBearerTokenVerifier } from './bearer-token.ts';
import type { HeldBodiesLimits } from './held-bodies.ts';
import { createSignedRequestVerifier, type SignatureBudget } from './signed-request.ts';
import type { AuthenticationRequest, VerifiedRequest } from './verified-request.ts';
import { createXAccessTokenVerifier } from './x-access-token.ts';

export interface Verification {
  readonly credential: CredentialKind;
  /** Unavailable: verification was impossible, for example because the store is unavailable. */
  readonly result: 'accepted' | 'refused' | 'unavailable';
  readonly seconds: number;
}

/** Rejects with an ApiError for a bad credential. */
export type Authenticate = (request: AuthenticationRequest) => Promise<VerifiedRequest>;

export function createAuthenticate(dependencies: {
  readonly clients: ClientRegistry;
  readonly principalOf: ClientPrincipals;
  readonly replayGuard: ReplayGuard;
  readonly signatures: SignatureBudget;
  readonly verifyXAccessToken: AccessTokenVerifier;
  readonly verifyAccessToken: AccessTokenVerifier;
  readonly findTokenKind: FindTokenKind;
  readonly heldBodies: HeldBodiesLimits;
  readonly now: () => number;
  readonly signatureToleranceMilliseconds: number;
  readonly strict: boolean;
  readonly onVerified: (verification: Verification) => void;
}): Authenticate {
  const verifySignature = createSignedRequestVerifier(dependencies);
  const verifyXAccessToken = createXAccessTokenVerifier({
    ...dependencies,
    verifyXAccessToken: shareInFlight(dependencies.verifyXAccessToken),
  });
  const verifyBearerToken = createBearerTokenVerifier({
    ...dependencies,
    verifyAccessToken: shareInFlight(dependencies.verifyAccessToken),
    acceptQueryToken: !dependencies.strict,
  });

  function verify(request: AuthenticationRequest): Promise<VerifiedRequest> {
    const { credential } = request;
    switch (credential.kind) {
      case 'signature':
        return verifySignature(request, credential.signature);
      case 'access-token':
        return verifyXAccessToken(request, credential.value);
      case 'bearer':
        return verifyBearerToken(credential);
      default:
        throw noCredential(request.message.rawHeaders);
    }
  }

  return (request) => {
    const started = performance.now();
    const { kind } = request.credential;
    const verifying = verify(request);
    // The caller gets the same promise, so that the measurement adds no delay.
    if (kind !== 'none') {
      const report = (result: Verification['result']) =>
        dependencies.onVerified({
          credential: kind,
          result,
          seconds: (performance.now() - started) / 1000,
        });
      verifying.then(
        () => report('accepted'),
        (error) =>
          report(error instanceof ApiError && error.status < 500 ? 'refused' : 'unavailable'),
      );
    }
    return verifying;
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
