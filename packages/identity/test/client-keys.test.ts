// requires: redis-server
import { expect, test } from '@jest/globals';
import { RejectedChangeError } from '../src/index.ts';
import { describeOnEngines, newClient } from './engines.ts';

const START = 1_800_000_000_000;
const first = 'firstKey0123456789';
const second = 'secondKey0123456789';

describeOnEngines('rotation of secure keys', ({ openIdentity, storedText }) => {
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
        throw new Error('The client does not exist.');
      }
      return found;
    };
    return {
      identity,
      clients,
      client,
      clientId,
      find,
      advance: (milliseconds: number) => {
        now += milliseconds;
      },
    };
  }

  test('a new random key becomes the newest of two, each with its age and a public id', async () => {
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

  test('a third key replaces the oldest only with replaceOldest', async () => {
    const { clients, clientId, find } = await prepare();
    const two = await clients.rotateKey(clientId, { replaceOldest: false });
    await expect(clients.rotateKey(clientId, { replaceOldest: false })).rejects.toThrow(
      RejectedChangeError,
    );
    const three = await clients.rotateKey(clientId, { replaceOldest: true });
    expect(clients.secureKeys(await find())).toEqual([three.secureKey, two.secureKey]);
  });

  test('a bootstrap file cannot add a removed or replaced key again', async () => {
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

  test('a token is valid while its key is active, and later only if it is kept', async () => {
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
    await expect(clients.removeKey(clientId, oldId)).rejects.toThrow(RejectedChangeError);
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
    // A bootstrap file replaces the older key in the same way.
    await clients.save(client, second, { keepTokens });
    expect(clients.isLiveKey(await find(), secondId)).toBe(kept);
    expect(clients.isLiveKey(await find(), clients.secureKeyId(second))).toBe(true);
  });

  test('a secret is identified by the id of its key, for enabled clients only', async () => {
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

  test('a record of the previous release works, and is migrated when it is written', async () => {
    const { clients, client, clientId, identity, find } = await prepare();
    const sealed = (key: string) => identity.sealer.seal(key, `client:${clientId}:secureKey`);
    const [keptId, replacedId, removedId] = ['1'.repeat(12), '2'.repeat(12), '3'.repeat(12)];
    const removedKeys = [{ sealed: 'a removed key', removedAt: 1 }];
    const former = {
      ...client,
      enabled: true,
      notBefore: 5,
      sealedSecureKeys: [sealed(second), sealed(first)],
      secureKeyCreatedAt: { [clients.secureKeyId(second)]: 7 },
      removedKeyIds: [removedId, keptId],
      keptKeyIds: [keptId, replacedId],
      removedKeys,
    };
    await identity.store.set(`client:${clientId}`, JSON.stringify(former));
    const read = await find();
    expect(clients.secureKeys(read)).toEqual([second, first]);
    expect(clients.describeKeys(read)).toEqual([
      { keyId: clients.secureKeyId(second), createdAt: 7 },
      { keyId: clients.secureKeyId(first), createdAt: undefined },
    ]);
    expect(clients.keptKeyIds(read).toSorted()).toEqual([keptId, replacedId]);
    expect(clients.isLiveKey(read, removedId)).toBe(false);
    expect(read).toMatchObject({ notBefore: 5, name: client.name });

    const { secureKey } = await clients.rotateKey(clientId, { replaceOldest: true });
    expect(clients.secureKeys(await find())).toEqual([secureKey, second]);
    const record = JSON.parse((await identity.store.get(`client:${clientId}`)) ?? '');
    expect(record.keys.map(({ state }: { state: string }) => state)).toEqual([
      'active',
      'active',
      'removed',
      'retired',
      'replaced',
      'removed',
    ]);
    // Servers of the previous release can still run.
    const { sealedSecureKeys, secureKeyCreatedAt, removedKeyIds, keptKeyIds } = record;
    expect(sealedSecureKeys).toHaveLength(2);
    expect(Object.keys(secureKeyCreatedAt)).toHaveLength(2);
    expect(removedKeyIds).toEqual([clients.secureKeyId(first), keptId, removedId]);
    expect(keptKeyIds).toEqual([keptId, replacedId]);
    expect(record).not.toHaveProperty('removedKeys');
  });

  test('concurrent rotations in several processes all succeed and leave two keys', async () => {
    const { clientId, find } = await prepare();
    const processes = Array.from({ length: 5 }, () => openIdentity());
    const rotated = await Promise.all(
      processes.map(({ clients }) => clients.rotateKey(clientId, { replaceOldest: true })),
    );
    const client = await find();
    const active = processes[0]?.clients.secureKeys(client) ?? [];
    expect(active).toHaveLength(2);
    expect(rotated.map(({ secureKey }) => secureKey)).toEqual(expect.arrayContaining([...active]));
    expect(client.keys.filter(({ state }) => state === 'removed')).toHaveLength(4);
  });
});
