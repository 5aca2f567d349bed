import { createStore, type Store } from '@gatehouse/store';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, expect, test } from '@jest/globals';
import { createLastUse } from './last-use.ts';

const START = 1_800_000_000_000;
const url = `sqlite:${temporaryFolder()}/store`;
const [store, unavailable] = [createStore(url), createStore(url)];
await unavailable.close();
afterAll(() => store.close());

/** Processes over the store, which is unavailable to them while `isDown` is set. */
async function prepare() {
  await store.delete(['user:user', 'client:one', 'client:two'].map((each) => `last-use:${each}`));
  const clock = { now: START, writes: 0, isDown: false };
  const set: Store['set'] = (...write) => {
    clock.writes += 1;
    return (clock.isDown ? unavailable : store).set(...write);
  };
  return { clock, open: () => createLastUse({ get: store.get, set }, () => clock.now) };
}

test('the last use is written once a minute in each process, and is accurate to two minutes', async () => {
  const { clock, open } = await prepare();
  const processes = [open(), open(), open()];
  let errors = 0;
  for (let i = 0; i < 3600; i += 1) {
    clock.now += 1000;
    processes[i % 3]?.noteClient('backend', 'key-1');
    const read = (await processes[0]?.ofClient('backend')) ?? 0;
    errors += clock.now / 1000 - read > 60 ? 1 : 0;
  }
  expect(errors).toBe(0);
  // An hour, in three processes, of the client and of its key.
  expect(clock.writes).toBe(60 * 3 * 2);
  expect(await processes[0]?.ofKey('backend', 'key-1')).toBeGreaterThan(clock.now / 1000 - 60);
});

test('a write that fails is repeated after a minute, and no caller notices', async () => {
  const { clock, open } = await prepare();
  const lastUse = open();
  clock.isDown = true;
  lastUse.noteUser('user');
  expect(await lastUse.ofUser('user')).toBeUndefined();
  clock.isDown = false;
  clock.now += 59_000;
  lastUse.noteUser('user');
  expect(await lastUse.ofUser('user')).toBeUndefined();
  clock.now += 1000;
  lastUse.noteUser('user');
  expect(await lastUse.ofUser('user')).toBe(clock.now / 1000);
});

test('the use of a key counts as one of its client, of no other client and no other key', async () => {
  const { open } = await prepare();
  const lastUse = open();
  lastUse.noteClient('one', 'key-1');
  lastUse.noteClient('one');
  lastUse.noteClient('two', 'key-2');
  expect(await lastUse.ofClient('one')).toBe(START / 1000);
  expect(await lastUse.ofKey('one', 'key-1')).toBe(START / 1000);
  expect(await lastUse.ofKey('one', 'key-2')).toBeUndefined();
  expect(await lastUse.ofKey('two', 'key-1')).toBeUndefined();
  expect(await lastUse.ofUser('one')).toBeUndefined();
});

test('a clock that is set back does not stop the writes', async () => {
  const { clock, open } = await prepare();
  const lastUse = open();
  lastUse.noteUser('user');
  clock.now -= 3_600_000;
  lastUse.noteUser('user');
  expect(clock.writes).toBe(2);
});

test('a practice is noted for its client and key, and any other name is ignored', async () => {
  const { clock, open } = await prepare();
  const lastUse = open();
  lastUse.notePractice('one', 'MD5', 'key-1');
  lastUse.notePractice('one', 'client_credentials');
  expect(clock.writes).toBe(2);
  expect(await lastUse.ofPractice('one', 'MD5')).toBe(START / 1000);
  expect(await lastUse.ofPractice('one', 'MD5', 'key-1')).toBe(START / 1000);
  expect(await lastUse.ofPractice('one', 'SHA-256')).toBeUndefined();
  expect(await lastUse.ofPractice('two', 'MD5')).toBeUndefined();
});
