import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { openSqliteDatabase } from '../../src/sqlite/sqlite-database.ts';
import { startSweeping } from '../../src/sqlite/sqlite-space.ts';
import { prepareStatements } from '../../src/sqlite/sqlite-statements.ts';

test('a SQLite file shrinks after its rows expire, except for pages that the next writes need', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-free-pages-'));
  const database = openSqliteDatabase(join(directory, 'store.sqlite'));
  const set = database.prepare('INSERT INTO entries VALUES (?, ?, 0)');
  for (let row = 0; row < 5000; row += 1) {
    set.run(`key-${row}`, 'x'.repeat(2000));
  }
  const pages = () => Number(database.prepare('PRAGMA page_count').get()?.page_count);
  expect(pages()).toBeGreaterThan(2500);
  const stopSweeping = startSweeping(database, prepareStatements(database), Date.now);
  while (pages() > 1300) {
    await sleep(20);
  }
  stopSweeping();
  expect(database.prepare('PRAGMA freelist_count').get()?.freelist_count).toBeGreaterThan(700);
  database.close();
  rmSync(directory, { recursive: true });
});
