import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Store } from '@gatehouse/store';
import { currentContext } from '../patches/current-context.ts';
import { claimKey, MARGIN_SECONDS, receivedAt, type SingleUse } from './single-use.ts';

/**
 * The single use of codes, in two steps: a claim that one request wins, and a mark that it was answered. A request
 * that came before the mark is a loser of the same race and revokes nothing; one that comes after it presents
 * something already redeemed, which means two parties hold it (RFC 6749 §4.1.2).
 */
export interface Redemptions extends SingleUse {
  /** Marks what this request won; to be called before its answer is written. */
  complete(request: IncomingMessage): Promise<void>;
}

export function createRedemptions(store: Store): Redemptions {
  const won = new WeakMap<object, Map<string, number>>();
  return {
    async claim({ key }, secondsToLive) {
      const owner = randomBytes(16).toString('base64url');
      const holder = await store.claim(claimKey(key), owner, secondsToLive + MARGIN_SECONDS);
      const { req } = currentContext() ?? {};
      if (holder === owner && req !== undefined) {
        won.set(req, (won.get(req) ?? new Map()).set(key, secondsToLive));
      }
      return holder === owner;
    },
    async isRedeemed({ key }) {
      const answeredAt = await store.get(`redeemed:${key}`);
      return answeredAt !== undefined && (receivedAt() ?? Infinity) >= Number(answeredAt);
    },
    async complete(request) {
      for (const [key, secondsToLive] of won.get(request) ?? []) {
        await store.set(`redeemed:${key}`, String(Date.now()), secondsToLive + MARGIN_SECONDS);
      }
    },
  };
}
