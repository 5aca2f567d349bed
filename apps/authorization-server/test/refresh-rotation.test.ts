// requires: redis-server

import { randomBytes } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { createRefreshRotation } from '../src/provider/single-use.ts';
import { openSuiteStores } from './suite-stores.ts';

const MONTH = 30 * 24 * 60 * 60;

const stores = await openSuiteStores();

describe.each(stores)('the use of a refresh token on $engine', ({ system: { store } }) => {
  const keyOf = (token: string) => `record:${token}`;
  const successorOf = (token: string) => `${token}-next`;
  const start = () => {
    const id = randomBytes(8).toString('hex');
    let seconds = 0;
    const now = () => 1_800_000_000_000 + seconds * 1000;
    let request = new IncomingMessage(new Socket());
    const currentRequest = () => request;
    const rotation = createRefreshRotation({ store, successorOf, keyOf, now, currentRequest });
    const of = (token: string) => ({ id: token, key: keyOf(token) });
    return {
      id,
      at(later: number) {
        seconds = later;
      },
      claim(token: string) {
        request = new IncomingMessage(new Socket());
        return rotation.claim(of(token), MONTH);
      },
      /** The reply to the last claim is sent. */
      reply: () => rotation.complete(request),
      isRedeemed: (token: string) => rotation.isRedeemed(of(token)),
    };
  };

  test('can be repeated until its successor is used if no reply was sent', async () => {
    for (const replied of [true, false]) {
      const { id, at, claim, reply, isRedeemed } = start();
      expect([await isRedeemed(id), await claim(id)]).toEqual([false, true]);
      at(3600);
      expect([await isRedeemed(id), await claim(id)]).toEqual([false, true]);
      if (replied) {
        await reply();
        at(3609.9);
        expect([await isRedeemed(id), await claim(id)]).toEqual([false, true]);
        at(3610);
      } else {
        // The successor was used, so one of its holders has the reply of a concurrent request.
        expect(await claim(successorOf(id))).toBe(true);
      }
      expect([await isRedeemed(id), await claim(id)]).toEqual([true, false]);
    }
  });

  test('can be repeated for ten seconds, or until the successor is used', async () => {
    for (const usedAfter of [undefined, 4]) {
      const { id, at, claim, reply, isRedeemed } = start();
      expect(await claim(id)).toBe(true);
      await reply();
      at(3.9);
      expect([await isRedeemed(id), await claim(id)]).toEqual([false, true]);
      // The time of the first reply counts.
      await reply();
      if (usedAfter !== undefined) {
        at(usedAfter);
        expect(await claim(successorOf(id))).toBe(true);
      }
      at(9.9);
      const isOver = usedAfter !== undefined;
      expect([await isRedeemed(id), await claim(id)]).toEqual([isOver, !isOver]);
      at(10);
      expect([await isRedeemed(id), await claim(id)]).toEqual([true, false]);
    }
  });

  test('cannot be repeated if an earlier version claimed it', async () => {
    const { id, at, claim, isRedeemed } = start();
    await store.set(`claimed:${keyOf(id)}`, '1800000000000.owner', MONTH);
    at(10);
    expect([await isRedeemed(id), await claim(id)]).toEqual([true, false]);
  });
});
