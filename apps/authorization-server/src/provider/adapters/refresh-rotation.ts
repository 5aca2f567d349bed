import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Store } from '@gatehouse/store';
import { currentContext } from '../patches/current-context.ts';
import type { RefreshSuccessor } from '../patches/refresh-token-values.ts';
import { claimKey, MARGIN_SECONDS, type RepliedUse, receivedAt } from './single-use.ts';

/**
 * Refresh tokens have a grace, for lost replies and concurrent tabs. The claim is pending until a
 * reply with the successor is sent. A use whose reply was never sent gave nobody a token, so the
 * token stays usable, for public clients as well. After the reply, the claim gets its time,
 * and the token can be used again until the grace ends. Every use gives the same successor, so the
 * family does not fork. The grace ends after 10 s, or when the successor is used, which proves that
 * its reply arrived. A use that arrives later means that two parties hold the token, so the library
 * revokes the family (RFC 9700 §4.14.2). A use that arrives in time but is too slow is rejected and
 * revokes nothing.
 */
const GRACE_MILLISECONDS = 10_000;
/** Ends a claim without a reply. Claims of earlier versions have no such end: they count as sent. */
const PENDING = '.pending';

export interface RefreshRotationDependencies {
  readonly store: Store;
  readonly successorOf: RefreshSuccessor;
  /** The key of a refresh token's record. */
  readonly keyOf: (refreshToken: string) => string;
  readonly now?: () => number;
  readonly currentRequest?: () => IncomingMessage | undefined;
}

export function createRefreshRotation(dependencies: RefreshRotationDependencies): RepliedUse {
  const { store, successorOf, keyOf, now = Date.now } = dependencies;
  const { currentRequest = () => currentContext()?.req } = dependencies;
  const pending = new WeakMap<IncomingMessage, { readonly key: string; readonly holder: string }>();

  /** Epoch milliseconds. */
  async function endOfGrace(id: string, claim: string): Promise<number> {
    const used = await store.get(claimKey(keyOf(successorOf(id))));
    return Math.min(
      claim.endsWith(PENDING) ? Infinity : claimedAt(claim) + GRACE_MILLISECONDS,
      used === undefined ? Infinity : claimedAt(used),
    );
  }

  return {
    async claim({ id, key }, secondsToLive) {
      const owner = `${now()}.${randomBytes(16).toString('base64url')}${PENDING}`;
      const holder = await store.claim(claimKey(key), owner, secondsToLive + MARGIN_SECONDS);
      const request = currentRequest();
      if (request !== undefined && holder.endsWith(PENDING)) {
        pending.set(request, { key: claimKey(key), holder });
      }
      return holder === owner || now() < (await endOfGrace(id, holder));
    },
    async isRedeemed({ id, key }) {
      const holder = await store.get(claimKey(key));
      return holder !== undefined && (receivedAt() ?? now()) >= (await endOfGrace(id, holder));
    },
    async complete(request) {
      const { key, holder } = pending.get(request) ?? {};
      if (key !== undefined && holder !== undefined) {
        // False if a concurrent use completed first. Its time counts.
        await store.replace(
          key,
          holder,
          `${now()}${holder.slice(holder.indexOf('.'), -PENDING.length)}`,
        );
      }
    },
  };
}

function claimedAt(claim: string): number {
  return Number(claim.split('.', 1)[0]);
}
