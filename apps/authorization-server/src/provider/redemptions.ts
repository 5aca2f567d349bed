import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { observedRequest } from '@gatehouse/http-server';
import type { Store } from '@gatehouse/store';
import Provider from 'oidc-provider';

/**
 * The single use of codes and refresh tokens, in two steps: a claim that one request wins, and a mark that it
 * was answered. A request that came before the mark is a loser of the same race and revokes nothing; one that
 * comes after it presents something already redeemed, which means two parties hold it (RFC 6749 §4.1.2).
 */
export interface Redemptions {
  /** Whether this request won; atomic in the store, across processes. */
  claim(key: string, secondsToLive: number): Promise<boolean>;
  /** Whether the redemption was answered before the request at hand came. */
  isRedeemed(key: string): Promise<boolean>;
  /** Marks what this request won; to be called before its answer is written. */
  complete(request: IncomingMessage): Promise<void>;
}

/** The guarded record and its claim may be written a moment apart. */
const MARGIN_SECONDS = 60;

export function createRedemptions(store: Store): Redemptions {
  const won = new WeakMap<object, Map<string, number>>();
  return {
    async claim(key, secondsToLive) {
      const owner = randomBytes(16).toString('base64url');
      const holder = await store.claim(`claimed:${key}`, owner, secondsToLive + MARGIN_SECONDS);
      if (holder === owner && Provider.ctx !== undefined) {
        const { req } = Provider.ctx;
        won.set(req, (won.get(req) ?? new Map()).set(key, secondsToLive));
      }
      return holder === owner;
    },
    async isRedeemed(key) {
      const answeredAt = await store.get(`redeemed:${key}`);
      if (answeredAt === undefined || Provider.ctx === undefined) {
        return answeredAt !== undefined;
      }
      return observedRequest(Provider.ctx.req).receivedAt >= Number(answeredAt);
    },
    async complete(request) {
      for (const [key, secondsToLive] of won.get(request) ?? []) {
        await store.set(`redeemed:${key}`, String(Date.now()), secondsToLive + MARGIN_SECONDS);
      }
    },
  };
}
