// runs alone: it measures memory
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { createRateLimiter } from '../src/index.ts';

test('a rate limiter forgets old keys, so that a million keys do not fill the memory', async () => {
  const counter = { count: 1, resetsAt: Date.now() + 60_000 };
  const store = { increment: async () => counter } as never;
  const limit = { requests: 5, windowSeconds: 60 };
  const limiter = createRateLimiter('t', limit, { store, now: Date.now });
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let key = 0; key < 1_000_000; key += 1) {
    await limiter.take(String(key));
  }
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50 * 1024 * 1024);
});
