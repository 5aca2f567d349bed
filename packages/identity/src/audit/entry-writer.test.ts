import { expect, test } from '@jest/globals';
import type { AuditEntry } from './audit-event.ts';
import { createEntryWriter } from './entry-writer.ts';
import type { OpenEntry } from './open-entries.ts';
import type { TrailLog } from './trail-log.ts';

test('An entry that changes while it is stored replaces its first version.', async () => {
  const replaced: unknown[] = [];
  const { promise: firstLine, resolve: finishFirst } = Promise.withResolvers<string>();
  const log: Pick<TrailLog, 'append'> = {
    append(_entry, options) {
      replaced.push(options?.replaces);
      return replaced.length === 1 ? firstLine : Promise.resolve('second line');
    },
  };
  const writer = createEntryWriter({ log: log as TrailLog });
  const at = '2026-01-31T00:00:00.000Z';
  const target: OpenEntry = {
    first: { at } as AuditEntry,
    closesAt: Infinity,
    count: 1,
    lastAt: at,
    line: undefined,
    isBeingStored: false,
  };
  writer.run(writer.store(target));
  target.count = 2;
  writer.storeSoon(target);
  const flushed = writer.flush();
  finishFirst('first line');
  await flushed;
  expect(replaced).toEqual([undefined, 'first line']);
});
