// requires: redis-server
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { generateSecureKey } from '../src/index.ts';
import { describeOnBothEngines, newClient } from './on-both-engines.ts';

const [first, second, third] = ['1', '2', '3'].map(
  (digit) => `${digit}Q3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC`,
) as [string, string, string];

describeOnBothEngines('clients', ({ openIdentity, openStore, storedText, masterKey }) => {
  test('a change starts from the record under its lock, and keeps the keys', async () => {
    const { clients } = openIdentity();
    const client = newClient();
    const saved = await clients.save(client, first);
    const disabling = clients.update(client.clientId, (current) => ({
      ...current,
      enabled: false,
    }));
    const renaming = clients.change(client.clientId, (current) => ({
      ...current,
      name: 'Renamed',
    }));
    await Promise.all([disabling, renaming]);
    expect(await openIdentity().clients.find(client.clientId)).toEqual({
      ...saved,
      name: 'Renamed',
      enabled: false,
    });
    await expect(clients.change('unknown', (current) => current)).rejects.toThrow('does not exist');
  });

  test('every process finds a saved client, which is enabled if it is new', async () => {
    const { clients } = openIdentity();
    const client = newClient({ scopes: ['device:read', 'openid'], ipAllowList: ['10.0.0.0/8'] });
    const saved = await clients.save(client, first);
    expect(saved).toMatchObject({ ...client, enabled: true, notBefore: 0 });
    expect(await clients.find(client.clientId)).toEqual(saved);
    const other = openIdentity();
    expect(await other.clients.find(client.clientId)).toEqual(saved);
    expect((await other.clients.list()).map(({ clientId }) => clientId)).toContain(client.clientId);
    expect(await clients.find(randomUUID())).toBeUndefined();
  });

  test('a client id is never a pattern or the key of another record', async () => {
    const { clients } = openIdentity();
    for (const name of ['__proto__', 'constructor', '*', '?', 'a\nb', '', '../clients', '\0']) {
      expect(await clients.find(name)).toBeUndefined();
    }
  });

  test('a second key is active together with the first, a third replaces the oldest', async () => {
    const { clients } = openIdentity();
    const client = newClient();
    await clients.save(client, first);
    const two = await clients.save(client, second);
    expect(clients.secureKeys(two)).toEqual([second, first]);
    expect(await clients.save(client, first)).toEqual(two);
    expect(clients.verifySecret(two, first) && clients.verifySecret(two, second)).toBe(true);
    const three = await clients.save(client, third);
    expect(clients.secureKeys(three)).toEqual([third, second]);
    expect(clients.verifySecret(three, first)).toBe(false);
    expect(await clients.save(client)).toEqual(three);
  });

  test('accepts only an active key of an enabled client', async () => {
    const { clients } = openIdentity();
    const client = newClient();
    const saved = await clients.save(client, first);
    expect(clients.verifySecret(saved, first)).toBe(true);
    for (const wrong of ['', first.slice(1), `${first}\0`, `${first} `, second]) {
      expect(clients.verifySecret(saved, wrong)).toBe(false);
    }
    const disabled = await clients.save({ ...client, enabled: false });
    expect(clients.verifySecret(disabled, first)).toBe(false);
    expect(clients.verifySecret(undefined, first)).toBe(false);
    expect(clients.verifySecret(undefined, '')).toBe(false);
  });

  test('a change by another process takes effect within 50 ms', async () => {
    let time = Date.now();
    const gateway = openIdentity(() => time);
    const client = newClient();
    await gateway.clients.save(client, first);
    expect((await gateway.clients.find(client.clientId))?.enabled).toBe(true);
    await openIdentity().clients.save({ ...client, enabled: false });
    time += 50;
    expect((await gateway.clients.find(client.clientId))?.enabled).toBe(false);
  });

  test('saving undoes no revocation: a client stays disabled and its not-before never decreases', async () => {
    const { clients } = openIdentity();
    const client = newClient();
    await clients.save({ ...client, enabled: false, notBefore: 1_700_000_000 }, first);
    const again = await clients.save({ ...client, notBefore: 5 }, first);
    expect(again).toMatchObject({ enabled: false, notBefore: 1_700_000_000 });
    expect(await clients.save({ ...client, enabled: true })).toMatchObject({ enabled: true });
  });

  test('a client that becomes public loses its keys permanently', async () => {
    const { clients } = openIdentity();
    const client = newClient();
    await clients.save(client, first);
    const publicClient = await clients.save({ ...client, public: true });
    expect(publicClient.keys).toEqual([]);
    expect(clients.verifySecret(publicClient, first)).toBe(false);
    expect(clients.verifySecret(publicClient, '')).toBe(false);
    const back = await clients.save(client, second);
    expect(clients.secureKeys(back)).toEqual([second]);
  });

  test.each([
    '',
    'short',
    'a'.repeat(257),
    `${'a'.repeat(20)}\0`,
    `${'a'.repeat(20)}\n`,
    'ü'.repeat(20),
  ])('a secureKey is never %j', async (secureKey) => {
    const { clients } = openIdentity();
    const client = newClient();
    await expect(clients.save(client, secureKey)).rejects.toThrow(TypeError);
    expect(await clients.find(client.clientId)).toBeUndefined();
  });

  test('concurrent changes by several processes are all saved', async () => {
    const client = newClient();
    const [one, two, three] = [openIdentity(), openIdentity(), openIdentity()];
    await one.clients.save(client, first);
    await Promise.all([
      two.clients.save(client, second),
      one.clients.save({ ...client, notBefore: 1_700_000_000 }),
      three.clients.save({ ...client, enabled: false }),
    ]);
    const now = await openIdentity().clients.find(client.clientId);
    expect(now).toMatchObject({ enabled: false, notBefore: 1_700_000_000 });
    expect(now && one.clients.secureKeys(now)).toEqual([second, first]);
  });

  test('ten processes that rotate together leave two keys, which can be decrypted', async () => {
    const client = newClient();
    const keys = Array.from({ length: 10 }, () => generateSecureKey());
    const identity = openIdentity();
    const saved = await Promise.all(keys.map((key) => identity.clients.save(client, key)));
    const last = await identity.clients.find(client.clientId);
    expect(last?.keys).toHaveLength(2);
    expect(saved).toContainEqual(last);
    expect(keys).toEqual(
      expect.arrayContaining([...(last ? identity.clients.secureKeys(last) : [])]),
    );
  });

  test('the lock of a process that died delays a change, but does not prevent it', async () => {
    const store = openStore();
    const client = newClient();
    await store.claim(`lock:client:${client.clientId}`, 'a process that died', 0.3);
    await openIdentity().clients.save(client, first);
    expect(await store.get(`lock:client:${client.clientId}`)).toBeUndefined();
  });

  test.each([
    ['bad JSON', '{"clientId":'],
    ['no object', 'null'],
    ['an array', '[]'],
    ['missing members', '{"clientId":"a"}'],
  ])('a damaged record, %s, is not a client and is not overwritten', async (_name, text) => {
    const identity = openIdentity();
    const client = newClient();
    await identity.store.set(`client:${client.clientId}`, text);
    expect(await identity.clients.find(client.clientId)).toBeUndefined();
    await expect(identity.clients.save(client, first)).rejects.toThrow(
      `The record client:${client.clientId} in the store is damaged`,
    );
  });

  test('a record without a not-before is not a client, because that would undo revocations', async () => {
    const identity = openIdentity();
    const client = newClient();
    const { notBefore: _lost, ...damaged } = await identity.clients.save(client, first);
    await identity.store.set(`client:${client.clientId}`, JSON.stringify(damaged));
    expect(await openIdentity().clients.find(client.clientId)).toBeUndefined();
  });

  test('the store contains no readable secure key', async () => {
    const { clients } = openIdentity();
    const secureKey = generateSecureKey();
    await clients.save(newClient(), secureKey);
    expect(await storedText()).not.toContain(secureKey);
    expect(await storedText()).not.toContain(masterKey.toString('hex'));
  });

  test('an encrypted key cannot be decrypted in the record of another client', async () => {
    const { clients } = openIdentity();
    const victim = await clients.save(newClient(), first);
    const thief = { ...victim, clientId: randomUUID() };
    expect(clients.secureKeys(thief)).toEqual([]);
    expect(clients.verifySecret(thief, first)).toBe(false);
  });
});
