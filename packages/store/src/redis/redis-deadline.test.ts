import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { withinDeadline } from './redis-deadline.ts';

test('an operation without a reply is rejected, and knows it', async () => {
  let isExpired = () => false;
  const operation = withinDeadline(100, (expired) => {
    isExpired = expired;
    return new Promise(() => {});
  });
  expect(isExpired()).toBe(false);
  await expect(operation).rejects.toThrow('No connection or no reply in time');
  expect(isExpired()).toBe(true);
});

test('pauses of the process do not count', async () => {
  async function replyAfterPauses(): Promise<string> {
    for (let pause = 0; pause < 8; pause += 1) {
      await nextTurn();
      for (const start = performance.now(); performance.now() - start < 100; );
    }
    return 'reply';
  }
  expect(await withinDeadline(450, replyAfterPauses)).toBe('reply');
});
