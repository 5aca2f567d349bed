import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import type { ContractSubject } from './contract-subject.ts';

const workerFile = fileURLToPath(new URL('./store-worker.ts', import.meta.url));
const run = promisify(execFile);

/** Longer than the deadline of an operation. */
const PAUSE_MILLISECONDS = 600;

export function describeProcessesContract({ url, store, freshKey }: ContractSubject): void {
  async function work(...task: readonly string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [workerFile, url(), ...task]);
    return stdout.trim();
  }

  describe('processes', () => {
    test('concurrent increments of two processes are all counted', async () => {
      const key = freshKey();
      await Promise.all([work('increment', key, '500'), work('increment', key, '500')]);
      expect((await store().increment(key, 60, 0)).count).toBe(1000);
    });

    test('if two processes claim the same keys, one process wins each key', async () => {
      const key = freshKey();
      const outcomes = await Promise.all([
        work('claim', key, '100', 'first'),
        work('claim', key, '100', 'second'),
      ]);
      const [first, second] = outcomes.map((outcome) => outcome.split(',')) as [string[], string[]];
      expect(first).toHaveLength(100);
      expect(first).toEqual(second);
    });

    test('each of two processes reads the values that the other wrote', async () => {
      const key = freshKey();
      await store().set(key, 'from here');
      expect(await work('get', key)).toBe('from here');
      await work('set', key, 'from there');
      expect(await store().get(key)).toBe('from there');
    });

    test('a pause of this process does not count towards the deadline', async () => {
      const key = freshKey();
      await store().set(key, 'value');
      const replies = [store().get(key), store().claim(key, 'owner')];
      await setImmediate();
      const end = performance.now() + PAUSE_MILLISECONDS;
      while (performance.now() < end) {
        // Blocks the event loop, as a machine without a free core does.
      }
      expect(await Promise.all(replies)).toEqual(['value', 'value']);
    });
  });
}
