// requires: redis-server
import { randomBytes, sign, verify } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Store, StoreUnavailableError } from '@gatehouse/store';
import { until } from '@gatehouse/testing';
import { beforeEach, expect, test } from '@jest/globals';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { createSealer } from '../src/secrets/seal.ts';
import { keepSigningKeys, loadSigningKeys, type SigningKey } from '../src/secrets/signing-keys.ts';
import { describeOnEngines, loadSigningKey } from './engines.ts';

describeOnEngines('signing keys', ({ openIdentity, openStore, storedText }) => {
  test('20 concurrent first starts over two connections create one key', async () => {
    const identities = [openIdentity(), openIdentity()];
    const keys = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        loadSigningKey('gateway', identities[i % 2] ?? openIdentity()),
      ),
    );
    expect(new Set(keys.map((key) => key.kid)).size).toBe(1);
    expect(await loadSigningKey('gateway', openIdentity())).toMatchObject({
      kid: keys[0]?.kid,
    });
  });

  test.each([
    ['gateway', 'EdDSA'],
    ['authorization-server', 'RS256'],
  ] as const)(
    'a key of the %s is for %s, has the thumbprint of RFC 7638 and can sign',
    async (purpose, algorithm) => {
      const key = await loadSigningKey(purpose, openIdentity());
      expect(key.kid).toBe(await calculateJwkThumbprint(key.publicJwk as JWK));
      expect(key.publicJwk).toMatchObject({ kid: key.kid, alg: algorithm, use: 'sig' });
      const hashName = algorithm === 'RS256' ? 'sha256' : null;
      const signature = sign(hashName, Buffer.from('text'), key.privateKey);
      const publicKey = { key: key.publicJwk, format: 'jwk' } as const;
      expect(verify(hashName, Buffer.from('text'), publicKey, signature)).toBe(true);
    },
  );

  test('the store contains no readable private key, and another master key cannot decrypt it', async () => {
    const { privateJwk } = await loadSigningKey('gateway', openIdentity());
    expect(await storedText()).not.toContain(String(privateJwk.d));
    const stranger = { store: openStore(), sealer: createSealer(randomBytes(32)) };
    await expect(loadSigningKey('gateway', stranger)).rejects.toMatchObject({
      name: 'DamagedSigningKeysError',
      reason: expect.stringContaining('another master key'),
    });
  });

  test('an encrypted key cannot be decrypted for another purpose', async () => {
    const identity = openIdentity();
    await loadSigningKey('gateway', identity);
    const sealed = (await identity.store.get('signing-key:gateway:EdDSA')) ?? '';
    await identity.store.set('signing-key:authorization-server:RS256', sealed);
    await expect(loadSigningKey('authorization-server', identity)).rejects.toMatchObject({
      name: 'DamagedSigningKeysError',
      reason: expect.stringContaining('Delete the record'),
    });
    await identity.store.delete(['signing-key:authorization-server:RS256']);
  });
});

const DAY = 24 * 60 * 60 * 1000;
const MINUTE = 60 * 1000;
const START = 1_800_000_000_000;
const policy = {
  rotateAfterSeconds: 90 * 86_400,
  publishAheadSeconds: 600,
  longestTokenSeconds: 3600,
};
const RECORD = 'signing-key:gateway:EdDSA';

describeOnEngines('rotation of signing keys', ({ openIdentity, storedText }) => {
  let now = START;
  const clock = () => now;
  beforeEach(async () => {
    now = START;
    await openIdentity().store.delete([RECORD]);
  });
  const load = (onMade?: (kid: string) => void, identity = openIdentity()) =>
    loadSigningKeys('gateway', {
      ...identity,
      now: clock,
      policy,
      ...(onMade && { onMade }),
    });
  const kids = (keys: readonly SigningKey[]) => keys.map(({ kid }) => kid);

  test('a key gets a successor, which is published before it signs, and is deleted after its tokens expire', async () => {
    const first = (await load()).current;
    now += 90 * DAY - 1;
    expect(kids((await load()).all)).toEqual([first.kid]);

    now += 1;
    const announced = await load();
    expect(announced.current.kid).toBe(first.kid);
    expect(announced.all).toHaveLength(2);
    const second = announced.all[1]?.kid;

    now += 10 * MINUTE;
    const taken = await load();
    expect(kids(taken.all)).toEqual([second, first.kid]);
    expect((await loadSigningKey('gateway', { ...openIdentity(), now: clock, policy })).kid).toBe(
      second,
    );

    now += 61 * MINUTE;
    expect(kids((await load()).all)).toEqual([second, first.kid]);
    now += MINUTE;
    expect(kids((await load()).all)).toEqual([second]);
  });

  test('a process with cached keys stops signing if their record is damaged, and does not replace it', async () => {
    const { store, ...identity } = openIdentity();
    const reported: string[] = [];
    const kept = keepSigningKeys('gateway', {
      ...identity,
      store,
      now: clock,
      policy,
      onDamagedRecord: (kind) => reported.push(kind),
    });
    const { kid } = await kept.current();
    const whole = (await store.get(RECORD)) ?? '';
    const damaged = `${whole.slice(0, -4)}AAAA`;
    await store.set(RECORD, damaged);
    now += 2 * MINUTE;
    await expect(kept.current()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(kept.current()).rejects.toMatchObject({
      reason: expect.stringContaining(`${RECORD} in the store cannot be decrypted`),
    });
    expect(await store.get(RECORD)).toBe(damaged);
    expect(new Set(reported)).toEqual(new Set(['signing key']));

    await store.set(RECORD, whole);
    expect((await kept.current()).kid).toBe(kid);
    await store.delete([RECORD]);
    now += 2 * MINUTE;
    expect((await kept.current()).kid).not.toBe(kid);
  });

  test('20 concurrent rotations over many connections create one key', async () => {
    await load();
    now += 90 * DAY;
    const made: string[] = [];
    const identities = Array.from({ length: 20 }, () => openIdentity());
    // On a busy machine, 20 connections take longer to open than one operation may take.
    await Promise.all(identities.map(({ store }) => until(() => store.get(RECORD))));
    const loaded = await Promise.all(
      identities.map((identity) => load((kid) => made.push(kid), identity)),
    );
    expect(new Set(loaded.map(({ all }) => kids(all).join())).size).toBe(1);
    expect(loaded[0]?.all).toHaveLength(2);
    expect(made).toEqual([loaded[0]?.all[1]?.kid]);
  });

  test('a process loads new keys within a minute, and uses its last keys while the store is unavailable', async () => {
    const identity = openIdentity();
    let isAway = false;
    let operations = 0;
    const store: Store = new Proxy(identity.store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        return typeof member !== 'function'
          ? member
          : async (...parameters: unknown[]) => {
              operations += 1;
              if (isAway) {
                throw new StoreUnavailableError(String(name), undefined);
              }
              return member.apply(target, parameters);
            };
      },
    });
    const kept = keepSigningKeys('gateway', {
      store,
      sealer: identity.sealer,
      now: clock,
      policy,
    });
    isAway = true;
    await expect(kept.current()).rejects.toThrow(StoreUnavailableError);
    isAway = false;
    const { kid } = await kept.current();
    const loading = operations;
    now += MINUTE - 1;
    expect((await kept.current()).kid).toBe(kid);
    expect(operations).toBe(loading);
    isAway = true;
    now += 90 * DAY;
    expect((await kept.current()).kid).toBe(kid);
    isAway = false;
    now += MINUTE;
    expect((await kept.jwks()).keys).toHaveLength(2);
    now += 10 * MINUTE;
    expect((await kept.current()).kid).not.toBe(kid);
  });

  test('a rotation never publishes or stores a readable private member', async () => {
    const { current } = await load();
    now += 90 * DAY;
    const kept = keepSigningKeys('gateway', { ...openIdentity(), now: clock, policy });
    const { keys } = await kept.jwks();
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    }
    await sleep(1);
    expect(await storedText()).not.toContain(String(current.privateJwk.d));
  });
});
