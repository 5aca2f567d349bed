import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteDatabase } from '../../src/sqlite/sqlite-database.ts';
import { createFreePages, type FreePages } from '../../src/sqlite/sqlite-free-pages.ts';

const MEBIBYTE = 1024 * 1024;

let directory = '';
let path = '';
let database: DatabaseSync;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-free-pages-'));
  path = join(directory, 'store.sqlite');
  database = openSqliteDatabase(path);
});

afterEach(() => {
  database.close();
  rmSync(directory, { recursive: true });
});

function fillAndEmpty(): void {
  const set = database.prepare('INSERT INTO entries VALUES (?, ?, 0)');
  for (let row = 0; row < 5000; row += 1) {
    set.run(`key-${row}`, 'x'.repeat(2000));
  }
  database.exec('DELETE FROM entries');
}

function releaseAll(pages: FreePages, isIdle: boolean): number {
  let steps = 1;
  while (pages.release(isIdle)) {
    steps += 1;
  }
  return steps;
}

const sizeOf = (file: string) => statSync(file).size;

describe('the free pages of a SQLite file', () => {
  test('are given back in steps, except for those that the next writes need', () => {
    fillAndEmpty();
    expect(sizeOf(path) + sizeOf(`${path}-wal`)).toBeGreaterThan(12 * MEBIBYTE);
    expect(releaseAll(createFreePages(database), false)).toBeGreaterThan(4);
    expect(database.prepare('PRAGMA page_count').get()?.page_count).toBeLessThan(1200);
    expect(database.prepare('PRAGMA freelist_count').get()?.freelist_count).toBeGreaterThan(700);
  });

  test('are given back with the write-ahead log while the store is idle', () => {
    fillAndEmpty();
    releaseAll(createFreePages(database), true);
    expect(sizeOf(path)).toBeLessThan(MEBIBYTE / 2);
    expect(sizeOf(`${path}-wal`)).toBe(0);
  });

  test('are given back later if another process uses the file', () => {
    fillAndEmpty();
    const pages = createFreePages(database);
    const other = openSqliteDatabase(path);
    other.exec('BEGIN; SELECT * FROM entries');
    releaseAll(pages, true);
    expect(sizeOf(`${path}-wal`)).toBeGreaterThan(0);
    other.exec('COMMIT');
    releaseAll(pages, true);
    expect(sizeOf(`${path}-wal`)).toBe(0);
    other.close();
  });
});
