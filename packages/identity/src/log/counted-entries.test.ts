import { expect, test } from '@jest/globals';
import type { AuditEntry } from './audit-event.ts';
import { type AuditLog, createAggregation, createEntryWriter } from './counted-entries.ts';

test('An entry that changes while it is stored replaces its first version.', async () => {
  const replaced: unknown[] = [];
  const { promise: stored, resolve: finishFirst } = Promise.withResolvers<void>();
  const log = {
    takeShare: async () => 1,
    append: (_trail: string, lines: readonly string[], options: { replaces?: string }) => {
      replaced.push(options.replaces);
      return lines.length === replaced.length ? stored : Promise.resolve();
    },
  } as unknown as AuditLog;
  const writer = createEntryWriter(log, undefined);
  const aggregate = createAggregation(log, writer, () => 0);
  const entry = { at: '2026-01-31T00:00:00.000Z', severity: 'alert' } as AuditEntry;
  aggregate(entry, '192.0.2.1');
  await new Promise(setImmediate);
  aggregate(entry, '192.0.2.1');
  const flushed = writer.flush();
  finishFirst();
  await flushed;
  expect(replaced).toEqual([undefined, JSON.stringify(entry)]);
});
