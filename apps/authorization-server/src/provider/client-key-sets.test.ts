import { generateKeyPairSync } from 'node:crypto';
import { StoreUnavailableError } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import { createClientKeySets } from './client-key-sets.ts';

const ADDRESS = 'https://client.example/jwks';
const MINUTE = 60_000;
const keyOf = (kid: string) => ({
  ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
  kid,
});
const [one, two] = [keyOf('one'), keyOf('two')];

function open() {
  const state = { now: 1e12, reads: 0, answer: (): unknown => ({ keys: [one] }) };
  const sets = createClientKeySets(
    async () => {
      state.reads += 1;
      return Response.json(state.answer());
    },
    () => state.now,
  );
  const kids = async (kid: string) => (await sets(ADDRESS, kid)).map((key) => key.kid);
  return { state, kids };
}
const fail = () => {
  throw new Error('unreachable');
};

test('A key that the client removed is rejected after five minutes.', async () => {
  const { state, kids } = open();
  expect(await kids('one')).toEqual(['one']);
  state.answer = () => ({ keys: [two] });
  expect([await kids('one'), state.reads]).toEqual([['one'], 1]);
  state.now += 5 * MINUTE;
  expect([await kids('one'), state.reads]).toEqual([['two'], 2]);
});

test('An unknown key is looked for at once, but callers cannot cause a read for each.', async () => {
  const { state, kids } = open();
  await kids('one');
  state.now += MINUTE / 2;
  state.answer = () => ({ keys: [one, two] });
  expect(await kids('two')).toEqual(['one', 'two']);
  for (let guess = 0; guess < 20; guess += 1) {
    await kids(`guess-${guess}`);
  }
  expect(state.reads).toBe(2);
});

test('Concurrent callers share a read.', async () => {
  const { state, kids } = open();
  await Promise.all([kids('one'), kids('one'), kids('two')]);
  expect(state.reads).toBe(1);
});

test('While the address fails, the last keys stay valid for an hour.', async () => {
  const { state, kids } = open();
  await kids('one');
  state.answer = fail;
  state.now += 30 * MINUTE;
  expect(await kids('one')).toEqual(['one']);
  expect(await kids('one')).toEqual(['one']);
  expect(state.reads).toBe(2);
  state.now += 31 * MINUTE;
  await expect(kids('one')).rejects.toMatchObject({ error: 'invalid_client' });
});

test('A failure of the store is not remembered as one of the address.', async () => {
  const { state, kids } = open();
  const loseStore = () => {
    throw new StoreUnavailableError('test', '');
  };
  const unavailable = () => expect(kids('one')).rejects.toBeInstanceOf(StoreUnavailableError);
  state.answer = loseStore;
  await unavailable();
  state.answer = () => ({ keys: [one] });
  expect(await kids('one')).toEqual(['one']);
  state.now += 5 * MINUTE;
  state.answer = loseStore;
  await unavailable();
  state.answer = fail;
  expect(await kids('one')).toEqual(['one']);
});

test('An address that never replied authenticates nobody, and recovers.', async () => {
  const { state, kids } = open();
  state.answer = fail;
  await expect(kids('one')).rejects.toMatchObject({
    error_detail: 'the keys at jwksUri were not read: unreachable',
  });
  state.answer = () => ({ keys: [one] });
  await expect(kids('one')).rejects.toThrow();
  state.now += 10_000;
  expect(await kids('one')).toEqual(['one']);
});

test('Keys that cannot verify assertions are skipped.', async () => {
  const { state, kids } = open();
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const privateKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  state.answer = () => ({
    keys: [
      ...[null, 'text', { kty: 'oct', k: 'key' }, { ...one, use: 'enc' }],
      ...[privateKey, weak.publicKey.export({ format: 'jwk' }), two],
    ],
  });
  expect(await kids('two')).toEqual(['two']);
});

test.each([{}, [], null, { keys: {} }])(
  'A reply that is no JWK Set is a failure: %j',
  async (answer) => {
    const { state, kids } = open();
    state.answer = () => answer;
    await expect(kids('one')).rejects.toMatchObject({
      error_detail: expect.stringContaining('no JWK Set'),
    });
  },
);
