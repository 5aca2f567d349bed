import { expect, test } from '@jest/globals';
import type { AuditEntry } from './audit-event.ts';
import { createOriginShare } from './origin-share.ts';
import type { TrailLog } from './trail-log.ts';

const RESETS_AT = 86_400_000;
const failure = { severity: 'notice', outcome: 'failure' } as AuditEntry;
const success = { severity: 'notice', outcome: 'success' } as AuditEntry;

/** A trail whose capacity gives an origin a share of the given size. */
function open(share: number) {
  let now = 0;
  let writes = 0;
  const log = { retentionDays: 10, capacity: () => 2 * 10 * share } as unknown as TrailLog;
  const increment = async () => {
    writes += 1;
    return { count: writes, resetsAt: RESETS_AT };
  };
  const mayOpen = createOriginShare({ store: { increment }, log, now: () => now });
  return {
    /** How many of so many entries the origin may open. */
    async allowed(entry: AuditEntry, entries: number) {
      const results = [];
      for (let i = 0; i < entries; i += 1) {
        results.push(await mayOpen(entry, '192.0.2.1'));
      }
      return results.filter(Boolean).length;
    },
    writes: () => writes,
    wait: () => {
      now = RESETS_AT;
    },
  };
}

test('An origin opens failures up to its share, and then costs no store operation.', async () => {
  const origin = open(20);
  expect(await origin.allowed(failure, 30)).toBe(20);
  expect(origin.writes()).toBe(21);
  origin.wait();
  await origin.allowed(failure, 1);
  expect(origin.writes()).toBe(22);
});

test('An origin opens at least ten failures.', async () => {
  expect(await open(1).allowed(failure, 30)).toBe(10);
});

test('An origin opens any number of successes.', async () => {
  const origin = open(1);
  expect(await origin.allowed(success, 30)).toBe(30);
  expect(origin.writes()).toBe(0);
});
