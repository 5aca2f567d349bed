// requires: redis-server

import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createRefreshRotation } from '../src/provider/adapters/refresh-rotation.ts';
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
    const rotation = createRefreshRotation({ store, successorOf, keyOf, now });
    const of = (token: string) => ({ id: token, key: keyOf(token) });
    return {
      id,
      at(later: number) {
        seconds = later;
      },
      write: (token: string) => store.set(keyOf(token), '{}', MONTH),
      claim: (token: string) => rotation.claim(of(token), MONTH),
      isRedeemed: (token: string) => rotation.isRedeemed(of(token)),
    };
  };

  test('CR-10 can be repeated if the process ended before it wrote the successor', async () => {
    const { id, at, write, claim, isRedeemed } = start();
    expect([await isRedeemed(id), await claim(id)]).toEqual([false, true]);
    at(3600);
    expect([await isRedeemed(id), await claim(id)]).toEqual([false, true]);
    await write(successorOf(id));
    expect([await isRedeemed(id), await claim(id)]).toEqual([true, false]);
  });

  test('RF-01 RF-02 can be repeated for ten seconds, or until the successor is used', async () => {
    for (const usedAfter of [undefined, 4]) {
      const { id, at, write, claim, isRedeemed } = start();
      expect(await claim(id)).toBe(true);
      await write(successorOf(id));
      at(3.9);
      expect([await isRedeemed(id), await claim(id)]).toEqual([false, true]);
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
});
