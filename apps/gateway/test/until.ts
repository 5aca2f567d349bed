import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';

const INTERVAL_MILLISECONDS = 10;

/** Waits for a condition, and fails if it is still false after the deadline. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  deadlineSeconds = 10,
): Promise<void> {
  const deadline = performance.now() + deadlineSeconds * 1000;
  while (!(await isTrue()) && performance.now() < deadline) {
    await sleep(INTERVAL_MILLISECONDS);
  }
  expect(await isTrue()).toBe(true);
}
