import { randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';
import type { RefreshSuccessor } from '../patches/refresh-token-values.ts';
import { claimKey, MARGIN_SECONDS, receivedAt, type SingleUse } from './single-use.ts';

/**
 * Refresh tokens have a grace, for lost replies and concurrent tabs. The claim holds the time of
 * the first use, and the token can be used again until the grace ends. Every use gives the same
 * successor, so the family does not fork. The grace ends after 10 s, or when the successor is used,
 * which proves that its reply arrived. A use that arrives later means that two parties hold the
 * token, so the library revokes the family. A use that arrives in time but is too slow is rejected
 * and revokes nothing. Until a successor is written, the grace stays open.
 */
const GRACE_MILLISECONDS = 10_000;

export interface RefreshRotationDependencies {
  readonly store: Store;
  readonly successorOf: RefreshSuccessor;
  /** The key of a refresh token's record. */
  readonly keyOf: (refreshToken: string) => string;
  readonly now?: () => number;
}

export function createRefreshRotation(dependencies: RefreshRotationDependencies): SingleUse {
  const { store, successorOf, keyOf, now = Date.now } = dependencies;

  /** Epoch milliseconds. */
  async function endOfGrace(id: string, claim: string): Promise<number> {
    const successor = keyOf(successorOf(id));
    const [written, used] = await Promise.all([
      store.get(successor),
      store.get(claimKey(successor)),
    ]);
    if (used !== undefined) {
      return Math.min(claimedAt(claim) + GRACE_MILLISECONDS, claimedAt(used));
    }
    return written === undefined ? Infinity : claimedAt(claim) + GRACE_MILLISECONDS;
  }

  return {
    async claim({ id, key }, secondsToLive) {
      const owner = `${now()}.${randomBytes(16).toString('base64url')}`;
      const holder = await store.claim(claimKey(key), owner, secondsToLive + MARGIN_SECONDS);
      return holder === owner || now() < (await endOfGrace(id, holder));
    },
    async isRedeemed({ id, key }) {
      const holder = await store.get(claimKey(key));
      return holder !== undefined && (receivedAt() ?? now()) >= (await endOfGrace(id, holder));
    },
  };
}

function claimedAt(claim: string): number {
  return Number(claim.split('.', 1)[0]);
}
