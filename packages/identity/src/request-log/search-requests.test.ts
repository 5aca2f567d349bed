import { expect, test } from '@jest/globals';
import { formatEntry, type RequestEntry } from './request-entry.ts';
import { REQUEST_RETENTION_DAYS } from './request-trails.ts';
import { createRequestSearch } from './search-requests.ts';

const NOW = Date.UTC(2026, 0, 31);
const RETENTION = REQUEST_RETENTION_DAYS * 24 * 60 * 60 * 1000;

function entry(at: number): RequestEntry {
  const request = { at, requestId: 'request-1', app: 'gateway', operation: 'device.list' };
  return { ...request, verified: true, aborted: false, durationMs: 1, addressGroup: '192.0.2.1' };
}

test('A list contains entries until the end of their retention.', async () => {
  const oldest = NOW - RETENTION;
  const lines = [entry(oldest), entry(oldest - 1)].map(formatEntry);
  const trails = {
    append: async () => undefined,
    read: async (trail: string) => (trail === 'client' ? lines : []),
  };
  const search = createRequestSearch(trails, () => NOW);
  const found = await search.read({ limit: 10 });
  expect(found.map(({ at }) => at)).toEqual([oldest]);
});
