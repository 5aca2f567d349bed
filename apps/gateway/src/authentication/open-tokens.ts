import {
  type AccessTokenVerifier,
  createRevocationCanary,
  createXAccessTokens,
  type Identity,
  type XAccessTokens,
} from '@gatehouse/identity';
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts';
import { watchRevocations } from '../metrics/watch-revocations.ts';
import { shareInFlight } from './share-in-flight.ts';

export interface Tokens {
  readonly xAccessTokens: XAccessTokens;
  readonly verifyAccessToken: AccessTokenVerifier;
  readonly stopCanary: () => void;
}

/** Token verifiers, and a canary that measures over the same path how soon a revocation is enforced. */
export function openTokens(dependencies: {
  readonly identity: Identity;
  readonly now: () => number;
  readonly metrics: Pick<GatewayMetrics, 'revocations'>;
}): Tokens {
  const { identity, now, metrics } = dependencies;
  const verifyAccessToken = shareInFlight(identity.verifyAccessToken);
  const canary = createRevocationCanary({ ...identity, verify: verifyAccessToken, now });
  return {
    xAccessTokens: createXAccessTokens({ ...identity, now }),
    verifyAccessToken,
    stopCanary: watchRevocations(canary, metrics.revocations),
  };
}
