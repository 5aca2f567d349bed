import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../store.ts';
import { runWhenUnlocked } from './sqlite-database.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-locked-'));
const path = join(directory, 'locked.db');
const holder = new DatabaseSync(path);
const waiting = new DatabaseSync(path);
waiting.exec('CREATE TABLE words (word TEXT)');

afterAll(() => {
  waiting.close();
  holder.close();
  rmSync(directory, { recursive: true });
});

const write = () => waiting.exec("INSERT INTO words VALUES ('written')");

test('pauses of the process do not count in the deadline', async () => {
  holder.exec('BEGIN EXCLUSIVE');
  let attempts = 0;
  await runWhenUnlocked('set', () => {
    attempts += 1;
    for (const start = performance.now(); performance.now() - start < 100; );
    if (attempts === 10) {
      holder.exec('ROLLBACK');
    }
    write();
  });
  expect(attempts).toBe(10);
});

test('a lock that is not released makes the store unavailable', async () => {
  holder.exec('BEGIN EXCLUSIVE');
  await expect(runWhenUnlocked('set', write)).rejects.toBeInstanceOf(StoreUnavailableError);
  holder.exec('ROLLBACK');
});
