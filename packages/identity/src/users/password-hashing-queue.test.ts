import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { createPasswordHashingQueue, PasswordHashingBusyError } from './password-hashing-queue.ts';

describe('the password hashing queue', () => {
  test('runs at most its concurrency at a time, and the rest in order', async () => {
    const queue = createPasswordHashingQueue({ concurrency: 2, waiting: 10 });
    let running = 0;
    let most = 0;
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        queue.run(async () => {
          running += 1;
          most = Math.max(most, running);
          await sleep(5);
          order.push(i);
          running -= 1;
        }),
      ),
    );
    expect(most).toBe(2);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('rejects immediately if it is full, and accepts again later', async () => {
    const queue = createPasswordHashingQueue({ concurrency: 1, waiting: 1 });
    const accepted = [queue.run(() => sleep(20, 'first')), queue.run(() => sleep(1, 'second'))];
    await expect(queue.run(() => sleep(1))).rejects.toThrow(PasswordHashingBusyError);
    await expect(queue.pause()).rejects.toThrow(PasswordHashingBusyError);
    expect(await Promise.all(accepted)).toEqual(['first', 'second']);
    expect(await queue.run(() => sleep(1, 'later'))).toBe('later');
  });

  test('gives the place of a failed run to the next one', async () => {
    const queue = createPasswordHashingQueue({ concurrency: 1, waiting: 1 });
    const failed = queue.run(() => Promise.reject(new Error('no memory')));
    const next = queue.run(() => sleep(1, 'next'));
    await expect(failed).rejects.toThrow('no memory');
    expect(await next).toBe('next');
  });
});
