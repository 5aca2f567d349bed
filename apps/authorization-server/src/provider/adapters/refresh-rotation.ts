import { randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';
import type { RefreshSuccessor } from '../patches/refresh-token-values.ts';
import { claimKey, MARGIN_SECONDS, receivedAt, type SingleUse } from './single-use.ts';

/**
 * The use of refresh tokens with a grace, for lost replies and tabs: the claim says when a token was first used, and
 * until its grace ends it may be used again. That forks nothing, because every use gives the same successor. The
 * grace ends after 10 s, or as soon as the successor is used, which shows that its reply arrived. A use that came
 * after the end means two parties hold the token, and the library revokes the family; one that came before it and
 * was too slow is refused and revokes nothing.
 * While no successor was written the use never happened, and nobody can hold anything of it: the grace stays open.
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
