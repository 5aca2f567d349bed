import { expect, test } from '@jest/globals';
import { createRequestLog, type RequestEntry } from './request-log.ts';

const NOW = Date.UTC(2026, 0, 31);
const RETENTION = 7 * 24 * 60 * 60 * 1000;

function entry(at: number, reason?: string): RequestEntry {
  const request = { at, requestId: `request-${at}`, app: 'gateway', operation: 'device.list' };
  const caller = { clientId: 'noisy', verified: true, addressGroup: '192.0.2.1' };
  return { ...request, ...caller, aborted: false, durationMs: 1, reason };
}

/** Records ten entries of a client that may add two, and returns what was stored and counted. */
async function record(reason: string | undefined) {
  const stored: unknown[] = [];
  const counted: unknown[] = [];
  const log = createRequestLog({
    store: {
      increment: async () => ({ count: 34, resetsAt: NOW + 1 }),
      append: async (key, lines) => {
        stored.push([key, lines.map((line) => JSON.parse(line).at)]);
      },
      read: async () => [],
    },
    now: () => NOW,
    count: (result, entries) => counted.push([result, entries]),
  });
  const recordTen = () => {
    for (let at = 0; at < 10; at += 1) {
      log.record(entry(at, reason));
    }
  };
  recordTen();
  await log.flush();
  // The share is now known to be used up.
  recordTen();
  await log.flush();
  return { stored, counted };
}

test('The newest failures beyond the share of a client are stored in the overflow.', async () => {
  const { stored, counted } = await record('not_found');
  expect(stored).toEqual([
    ['request-log:client', [0, 1]],
    ['request-log:client-overflow', [6, 7, 8, 9]],
    ['request-log:client-overflow', [6, 7, 8, 9]],
  ]);
  expect(counted).toEqual([
    ['over_quota', 4],
    ['stored', 2],
    ['stored', 4],
    ...Array.from({ length: 6 }, () => ['queue_full', 1]),
    ['over_quota', 0],
    ['stored', 4],
  ]);
});

test('Successes beyond a share are not stored, and leave room for failures.', async () => {
  const { stored, counted } = await record(undefined);
  expect(stored).toEqual([]);
  expect(counted).toEqual([
    ['over_quota', 10],
    ...Array.from({ length: 10 }, () => ['queue_full', 1]),
  ]);
});

test('A list contains entries until the end of their retention.', async () => {
  const oldest = NOW - RETENTION;
  const lines = [entry(oldest), entry(oldest - 1)].map((each) => JSON.stringify(each));
  const log = createRequestLog({
    store: {
      increment: async () => ({ count: 1, resetsAt: 0 }),
      append: async () => undefined,
      read: async (key) => (key === 'request-log:client' ? lines : []),
    },
    now: () => NOW,
  });
  expect((await log.read({ limit: 10 })).map(({ at }) => at)).toEqual([oldest]);
});
