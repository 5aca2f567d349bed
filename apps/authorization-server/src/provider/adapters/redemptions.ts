import { randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';
import { currentContext } from '../patches/current-context.ts';
import { claimKey, MARGIN_SECONDS, type RepliedUse, receivedAt } from './single-use.ts';

/**
 * The single use of codes, in two steps: a claim that one request wins, and a mark when its reply
 * is ready. A request that arrives before the mark lost the same race and revokes nothing. A
 * request that arrives later presents a redeemed code, which means that two parties hold it (RFC
 * 6749 §4.1.2).
 */
export function createRedemptions(store: Store): RepliedUse {
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
