import type {
  AccessTokenVerifier,
  ClientRegistry,
  FindTokenKind,
  ReplayGuard,
} from '@gatehouse/identity';
import type { SignatureBudget } from '../rate-limits/request-limits.ts';
import type { CredentialKind } from '../routes/route.ts';
import type { Authenticator } from './authenticator.ts';
import { createBearerTokenAuthenticator } from './bearer-token.ts';
import { createHeldBodies, type HeldBodiesLimits } from './held-bodies.ts';
import { createSignedRequestAuthenticator } from './signed-request.ts';
import { createXAccessTokenAuthenticator } from './x-access-token.ts';

/** The authenticators of Methods A, B and C, in the order in which the gateway tries them. */
export function createAuthenticators(dependencies: {
  readonly clients: ClientRegistry;
  readonly replayGuard: ReplayGuard;
  readonly signatures: SignatureBudget;
  readonly verifyXAccessToken: AccessTokenVerifier;
  readonly verifyAccessToken: AccessTokenVerifier;
  readonly findTokenKind: FindTokenKind;
  readonly heldBodies: HeldBodiesLimits;
  readonly now: () => number;
  readonly signatureToleranceMilliseconds: number;
  readonly strict: boolean;
  /** Wraps each authenticator to measure it. */
  readonly observe: (kind: CredentialKind, authenticator: Authenticator) => Authenticator;
}): readonly Authenticator[] {
  const { clients, replayGuard, signatures, now, strict, observe } = dependencies;
  const signature = createSignedRequestAuthenticator({
    clients,
    replayGuard,
    signatures,
    holdBody: createHeldBodies(dependencies.heldBodies),
    now,
    toleranceMilliseconds: dependencies.signatureToleranceMilliseconds,
    strict,
  });
  const xAccessToken = createXAccessTokenAuthenticator({
    verifyXAccessToken: dependencies.verifyXAccessToken,
    findTokenKind: dependencies.findTokenKind,
    clients,
  });
  const bearer = createBearerTokenAuthenticator({
    verifyAccessToken: dependencies.verifyAccessToken,
    findTokenKind: dependencies.findTokenKind,
    acceptQueryToken: !strict,
  });
  return [
    observe('signature', signature),
    observe('access-token', xAccessToken),
    observe('bearer', bearer),
  ];
}
