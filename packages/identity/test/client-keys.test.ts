// requires: redis-server
import { expect, test } from '@jest/globals';
import { RefusedChangeError } from '../src/index.ts';
import { describeOnBothEngines, newClient } from './on-both-engines.ts';

const START = 1_800_000_000_000;
const first = 'firstKey0123456789';
const second = 'secondKey0123456789';

describeOnBothEngines('secureKey rotation', ({ openIdentity, storedText }) => {
  async function prepare() {
    let now = START;
    const identity = openIdentity(() => now);
    const { clients } = identity;
    const client = newClient();
    await clients.save(client, first);
    const { clientId } = client;
    const find = async () => {
      const found = await openIdentity().clients.find(clientId);
      if (found === undefined) {
        throw new Error('The client is gone.');
      }
      return found;
    };
    return {
      ...{ identity, clients, client, clientId, find },
      advance: (milliseconds: number) => {
        now += milliseconds;
      },
    };
  }

  test('a new random key becomes the newest of two, each with its age and an id that is no secret', async () => {
    const { clients, clientId, find, advance } = await prepare();
    advance(60_000);
    const { secureKey, keyId } = await clients.rotateKey(clientId, { replaceOldest: false });
    expect(secureKey).toMatch(/^[A-Za-z0-9]{32}$/);
    const client = await find();
    expect(clients.secureKeys(client)).toEqual([secureKey, first]);
    expect(clients.describeKeys(client)).toEqual([
      { keyId, createdAt: START / 1000 + 60 },
      { keyId: expect.stringMatching(/^[0-9a-f]{12}$/), createdAt: START / 1000 },
    ]);
    expect(clients.verifySecret(client, first)).toBe(true);
    expect(clients.verifySecret(client, secureKey)).toBe(true);
    expect(await storedText()).not.toContain(secureKey);
  });

  test('a third key pushes out the oldest only when asked to', async () => {
    const { clients, clientId, find } = await prepare();
    const two = await clients.rotateKey(clientId, { replaceOldest: false });
    await expect(clients.rotateKey(clientId, { replaceOldest: false })).rejects.toThrow(
      RefusedChangeError,
    );
    const three = await clients.rotateKey(clientId, { replaceOldest: true });
    expect(clients.secureKeys(await find())).toEqual([three.secureKey, two.secureKey]);
  });

  test('a key is removed by its id; the last one and an unknown one are not', async () => {
    const { clients, clientId, find } = await prepare();
    const { keyId } = await clients.rotateKey(clientId, { replaceOldest: false });
    await clients.removeKey(clientId, keyId);
    expect(clients.secureKeys(await find())).toEqual([first]);
    await expect(clients.removeKey(clientId, keyId)).rejects.toThrow(`has no key ${keyId}`);
    const [last] = clients.describeKeys(await find());
    await expect(clients.removeKey(clientId, last?.keyId ?? '')).rejects.toThrow('the only key');
  });

  test('a removed or replaced key does not come back with a bootstrap file that still names it', async () => {
    const { clients, client, clientId, find } = await prepare();
    const { secureKey } = await clients.rotateKey(clientId, { replaceOldest: false });
    const old = clients.describeKeys(await find())[1]?.keyId ?? '';
    await clients.removeKey(clientId, old);
    await clients.save(client, first);
    expect(clients.secureKeys(await find())).toEqual([secureKey]);

    await clients.save(client, second);
    const newest = await clients.rotateKey(clientId, { replaceOldest: true });
    await clients.save(client, secureKey);
    expect(clients.secureKeys(await find())).toEqual([newest.secureKey, second]);
  });

  test('what a key issued is valid while the key is active, and after it only if it is kept', async () => {
    const { clients, clientId, find } = await prepare();
    const { keyId: newId } = await clients.rotateKey(clientId, { replaceOldest: false });
    const oldId = clients.secureKeyId(first);
    const live = async (...ids: readonly string[]) => {
      const client = await find();
      return ids.map((id) => clients.isLiveKey(client, id));
    };
    expect(await live(newId, oldId, '0'.repeat(12), '')).toEqual([true, true, false, false]);

    await clients.removeKey(clientId, oldId, { keepTokens: true });
    expect(await live(newId, oldId)).toEqual([true, true]);
    await clients.removeKey(clientId, oldId);
    expect(await live(newId, oldId)).toEqual([true, false]);
    await expect(clients.removeKey(clientId, oldId)).rejects.toThrow(RefusedChangeError);
  });

  test.each([
    [undefined, false],
    [true, true],
  ])('a replaced key with keepTokens %p leaves its tokens valid: %p', async (keepTokens, kept) => {
    const { clients, client, clientId, find } = await prepare();
    const { keyId: secondId } = await clients.rotateKey(clientId, { replaceOldest: false });
    const rotated = await clients.rotateKey(clientId, { replaceOldest: true, keepTokens });
    const firstId = clients.secureKeyId(first);
    expect(rotated.replacedKeyId).toBe(firstId);
    expect(clients.isLiveKey(await find(), firstId)).toBe(kept);
    // The bootstrap file pushes the older one out in the same way.
    await clients.save(client, second, { keepTokens });
    expect(clients.isLiveKey(await find(), secondId)).toBe(kept);
    expect(clients.isLiveKey(await find(), clients.secureKeyId(second))).toBe(true);
  });

  test('a client that becomes public keeps no tokens of its keys', async () => {
    const { clients, client, clientId, find } = await prepare();
    const { keyId } = await clients.rotateKey(clientId, { replaceOldest: false });
    await clients.removeKey(clientId, clients.secureKeyId(first), { keepTokens: true });
    await clients.save({ ...client, public: true });
    const known = await find();
    expect([keyId, clients.secureKeyId(first)].map((id) => clients.isLiveKey(known, id))).toEqual([
      false,
      false,
    ]);
  });

  test('a secret is identified by its key, and only of an enabled client', async () => {
    const { clients, client, clientId, find } = await prepare();
    const { secureKey, keyId } = await clients.rotateKey(clientId, { replaceOldest: false });
    const known = await find();
    expect(clients.identifySecret(known, secureKey)).toBe(keyId);
    expect(clients.identifySecret(known, first)).toBe(clients.secureKeyId(first));
    expect(clients.identifySecret(known, `${first}\0`)).toBeUndefined();
    expect(clients.identifySecret(undefined, first)).toBeUndefined();
    await clients.save({ ...client, enabled: false });
    expect(clients.identifySecret(await find(), first)).toBeUndefined();
  });

  test('records of the first version, without ages and ids, keep working and rotate', async () => {
    const { clients, clientId, find, identity } = await prepare();
    const { secureKeyCreatedAt: _c, removedKeyIds: _r, keptKeyIds: _k, ...old } = await find();
    await identity.store.set(`client:${clientId}`, JSON.stringify(old));
    expect(clients.describeKeys(await find())).toEqual([
      { keyId: expect.any(String), createdAt: undefined },
    ]);
    expect(clients.isLiveKey(await find(), clients.secureKeyId(first))).toBe(true);
    const { secureKey } = await clients.rotateKey(clientId, { replaceOldest: false });
    expect(clients.secureKeys(await find())).toEqual([secureKey, first]);
  });

  test('a public client and one that does not exist have nothing to rotate', async () => {
    const { clients } = openIdentity();
    const client = newClient({ public: true });
    await clients.save(client);
    await expect(clients.rotateKey(client.clientId, { replaceOldest: true })).rejects.toThrow(
      'public client',
    );
    await expect(clients.rotateKey('nobody', { replaceOldest: true })).rejects.toThrow(
      'There is no client nobody',
    );
  });

  test('of rotations at once in several processes, none is lost and two keys are left', async () => {
    const { clientId, find } = await prepare();
    const processes = Array.from({ length: 5 }, () => openIdentity());
    const rotated = await Promise.all(
      processes.map(({ clients }) => clients.rotateKey(clientId, { replaceOldest: true })),
    );
    const client = await find();
    const active = processes[0]?.clients.secureKeys(client) ?? [];
    expect(active).toHaveLength(2);
    expect(rotated.map(({ secureKey }) => secureKey)).toEqual(expect.arrayContaining([...active]));
    expect(client.removedKeyIds).toHaveLength(4);
  });
});
