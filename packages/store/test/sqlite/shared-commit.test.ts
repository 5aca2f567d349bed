import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Store, StoreUnavailableError } from '../../src/index.ts';
import { createSqliteStore } from '../../src/sqlite/sqlite-store.ts';

const directory = temporaryFolder();
const path = join(directory, 'store.sqlite');
let store: Store;
let other: DatabaseSync;

beforeAll(() => {
  store = createSqliteStore(path, { now: Date.now });
  other = new DatabaseSync(path);
});
afterAll(async () => {
  await store.close();
  other.close();
});

/** Each commit appends every page that it changed to the log. */
const logBytes = () => statSync(`${path}-wal`).size;
const PAGE_BYTES = 4096;

const claimAll = (names: readonly string[]) =>
  Promise.all(names.map((name) => store.claim(name, `owner of ${name}`)));

test('claims of one turn share a commit, and each has its own winner', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `claim-${index % 10}`);
  const owners = names.map((_, index) => `owner-${index}`);
  const before = logBytes();
  const holders = await Promise.all(
    names.map((name, index) => store.claim(name, owners[index] ?? '')),
  );
  expect(holders).toEqual([...owners.slice(0, 10), ...owners.slice(0, 10)]);
  expect((logBytes() - before) / PAGE_BYTES).toBeLessThan(names.length / 2);
});

test('no claim of a turn succeeds if another process holds the lock, and the store recovers', async () => {
  other.exec('BEGIN IMMEDIATE');
  const outcomes = await Promise.allSettled(['a', 'b'].map((name) => store.claim(name, 'first')));
  other.exec('ROLLBACK');
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ reason: expect.any(StoreUnavailableError) });
  }
  expect(await claimAll(['a', 'b'])).toEqual(['owner of a', 'owner of b']);
});
