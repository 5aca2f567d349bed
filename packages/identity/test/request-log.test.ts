// requires: redis-server
import { randomUUID } from 'node:crypto';
import { createStore } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import type { RequestEntry } from '../src/index.ts';
import { createRequestLog } from '../src/log/request-log.ts';
import { describeOnEngines } from './engines.ts';

/** Half of 9,000 entries for seven days, in an hour. */
const CLIENT_SHARE = 26;
function entryOf(changes: Partial<RequestEntry> = {}): RequestEntry {
  return {
    at: Date.now(),
    requestId: randomUUID(),
    app: 'gateway',
    operation: 'device.list',
    clientId: undefined,
    verified: false,
    credential: undefined,
    keyId: undefined,
    status: 401,
    aborted: false,
    code: 'unauthorized',
    reason: 'unauthorized',
    verifiedMs: undefined,
    upstreamMs: undefined,
    durationMs: 1.5,
    addressGroup: '192.0.2.1',
    userAgent: 'curl/8.0',
    ...changes,
  };
}

const ofClient = (clientId: string, changes: Partial<RequestEntry> = {}) =>
  entryOf({ clientId, verified: true, credential: 'bearer', status: 404, ...changes });

describeOnEngines('the request log', ({ openIdentity, openStore, storeUrl }) => {
  test('a second process finds every member of a request by its id', async () => {
    const writer = openIdentity().requestLog;
    const complete = entryOf({
      clientId: 'complete',
      verified: true,
      credential: 'signature',
      keyId: 'key-1',
      verifiedMs: 0.4,
      upstreamMs: 2.5,
      method: 'POST',
      finding: 'The operation needs the scope device:write.',
    });
    const least = entryOf({ status: undefined, aborted: true, code: undefined, userAgent: '' });
    writer.record(complete);
    writer.record(least);
    await writer.flush();
    const reader = openIdentity().requestLog;
    expect(await reader.find(complete.requestId)).toEqual([complete]);
    expect(await reader.find(least.requestId)).toEqual([least]);
    expect(await reader.find('not-there')).toEqual([]);
  });

  test('requests that share an id, because their callers chose it, are all found', async () => {
    const { requestLog } = openIdentity();
    const requestId = randomUUID();
    requestLog.record(entryOf({ requestId, at: Date.now() - 5000 }));
    requestLog.record(entryOf({ requestId, addressGroup: '192.0.2.2' }));
    requestLog.record(entryOf({ requestId: `${requestId}x` }));
    await requestLog.flush();
    const found = await requestLog.find(requestId);
    expect(found.map(({ addressGroup }) => addressGroup)).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  test('a list is filtered by client, code, reason and time, newest first', async () => {
    const { requestLog } = openIdentity();
    const [one, two] = [randomUUID(), randomUUID()];
    const now = Date.now();
    requestLog.record(ofClient(one, { at: now - 3000, code: 'not_found' }));
    requestLog.record(ofClient(one, { at: now - 2000, reason: 'access_denied' }));
    requestLog.record(ofClient(two, { at: now - 1000, code: 'not_found' }));
    // Only named, not verified: it is in another trail.
    requestLog.record(entryOf({ clientId: one, at: now - 500 }));
    await requestLog.flush();
    const times = async (filter: object) =>
      (await requestLog.read({ limit: 10, ...filter })).map(({ at }) => now - at);
    expect(await times({ clientId: one })).toEqual([500, 2000, 3000]);
    expect(await times({ clientId: one, code: 'not_found' })).toEqual([3000]);
    expect(await times({ clientId: one, reason: 'access_denied' })).toEqual([2000]);
    expect(await times({ clientId: one, since: now - 2500 })).toEqual([500, 2000]);
    expect(await times({ clientId: one, limit: 1 })).toEqual([500]);
  });

  test('a noisy client uses its share and an overflow, in all processes together', async () => {
    const noisy = randomUUID();
    const counts = new Map<string, number>();
    const count = (result: string, entries: number) =>
      counts.set(result, (counts.get(result) ?? 0) + entries);
    const logs = [1, 2].map(() => createRequestLog({ store: openStore(), now: Date.now, count }));
    for (let round = 0; round < 10; round += 1) {
      for (let i = 0; i < 100; i += 1) {
        logs[i % 2]?.record(ofClient(noisy));
      }
      await Promise.all(logs.map((log) => log.flush()));
    }
    const { length } = (await logs[0]?.read({ clientId: noisy, limit: 10_000 })) ?? [];
    expect(length).toBeGreaterThan(CLIENT_SHARE);
    // At most four entries beyond the share for each flush of each process.
    expect(length).toBeLessThanOrEqual(CLIENT_SHARE + 10 * 2 * 4);
    expect(counts.get('stored')).toBe(length);
    // 32 entries of each process in the first round, and 4 of the overflow in all others.
    expect(counts.get('queue_full')).toBe(1000 - 2 * 32 - 9 * 2 * 4);
    expect([...counts.values()].reduce((sum, each) => sum + each, 0)).toBe(1000);
  });

  test('a flood displaces no entry of another client or address group', async () => {
    const { requestLog } = openIdentity();
    const quiet = [ofClient(randomUUID()), entryOf({ addressGroup: '198.51.100.1' })];
    for (const entry of quiet) {
      requestLog.record(entry);
    }
    await requestLog.flush();
    const noisy = randomUUID();
    for (let flush = 0; flush < 50; flush += 1) {
      for (let i = 0; i < 256; i += 1) {
        requestLog.record(ofClient(noisy));
        requestLog.record(entryOf({ addressGroup: '203.0.113.1' }));
        requestLog.record(entryOf({ addressGroup: `198.18.0.${i % 100}`, clientId: noisy }));
      }
      await requestLog.flush();
    }
    for (const entry of quiet) {
      expect(await requestLog.find(entry.requestId)).toEqual([entry]);
    }
  });

  test('while the store is unavailable, entries are dropped and counted, and recording goes on', async () => {
    const store = createStore(storeUrl());
    const counts = new Map<string, number>();
    const log = createRequestLog({
      store,
      now: Date.now,
      count: (result, entries) => counts.set(result, (counts.get(result) ?? 0) + entries),
    });
    await store.close();
    log.record(entryOf());
    log.record(ofClient('any'));
    await log.flush();
    expect([...counts]).toEqual([['unavailable', 2]]);
  });

  test('the queue holds a bounded number of entries, and one owner cannot fill it', () => {
    let full = 0;
    const log = createRequestLog({
      store: openStore(),
      now: Date.now,
      count: (result, entries) => {
        full += result === 'queue_full' ? entries : 0;
      },
    });
    for (let i = 0; i < 10_000; i += 1) {
      log.record(entryOf({ addressGroup: `192.0.2.${i % 200}` }));
    }
    expect(full).toBe(10_000 - 192);
    log.record(ofClient('still has room'));
    expect(full).toBe(10_000 - 192);
    for (let i = 0; i < 1000; i += 1) {
      log.record(ofClient('greedy'));
    }
    log.record(ofClient('also has room'));
    expect(full).toBe(10_000 - 192 + 1000 - 32);
  });

  test('a caller gets room in the queue while others flood it', async () => {
    const { requestLog } = openIdentity();
    const group = randomUUID();
    for (let i = 0; i < 1000; i += 1) {
      requestLog.record(entryOf({ addressGroup: `${group}-${i % 100}` }));
    }
    const first = entryOf({ addressGroup: `${group}-first` });
    requestLog.record(first);
    await requestLog.flush();
    expect(await requestLog.find(first.requestId)).toEqual([first]);
    // The shares of all others are used up, and they use only the overflow.
    for (let flush = 0; flush < 15; flush += 1) {
      for (let i = 0; i < 400; i += 1) {
        requestLog.record(entryOf({ addressGroup: `${group}-${i % 100}` }));
      }
      await requestLog.flush();
    }
    const late = Array.from({ length: 10 }, () => entryOf({ addressGroup: `${group}-late` }));
    for (let i = 0; i < 1000; i += 1) {
      requestLog.record(entryOf({ addressGroup: `${group}-${i % 100}` }));
    }
    for (const entry of late) {
      requestLog.record(entry);
    }
    await requestLog.flush();
    for (const { requestId } of late) {
      expect(await requestLog.find(requestId)).toHaveLength(1);
    }
  });
});
