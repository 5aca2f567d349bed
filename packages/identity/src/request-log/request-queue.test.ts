import { expect, test } from '@jest/globals';
import type { RequestEntry } from './request-entry.ts';
import { createRequestQueue, OWNER_OVERFLOW } from './request-queue.ts';

function entry(clientId: string, at: number, reason: string | undefined): RequestEntry {
  const request = { at, requestId: `request-${at}`, app: 'gateway', operation: 'device.list' };
  const outcome = { verified: true, aborted: false, durationMs: 1, addressGroup: '192.0.2.1' };
  return { ...request, ...outcome, clientId, reason };
}

test('beyond a share, the newest failures of an owner are kept', () => {
  const queue = createRequestQueue(() => true);
  for (let at = 0; at < 10; at += 1) {
    queue.add(entry('noisy', at, 'not_found'));
  }
  const kept = queue.take().flatMap(({ entries }) => entries.map(({ at }) => at));
  expect(kept).toEqual([6, 7, 8, 9]);
  expect(kept).toHaveLength(OWNER_OVERFLOW);
});

test('beyond a share, successes leave room for failures', () => {
  const queue = createRequestQueue(() => true);
  for (let owner = 0; owner < 20; owner += 1) {
    for (let at = 0; at < 4; at += 1) {
      expect(queue.add(entry(`busy-${owner}`, at, undefined))).toBe(1);
    }
  }
  expect(queue.add(entry('demo', 5, 'not_found'))).toBe(0);
});
