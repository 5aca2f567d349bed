// requires: redis-server
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { documentHost, noSettings, type Settings } from '../src/index.ts';
import { describeOnEngines, newClient } from './engines.ts';

const [first, second] = ['1', '2'].map((digit) => `${digit}Q3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC`) as [
  string,
  string,
];

describeOnEngines('clients', ({ openIdentity, openStore }) => {
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

  test('saving undoes no revocation: a client stays disabled and its not-before never decreases', async () => {
    const { clients } = openIdentity();
    const client = newClient();
    await clients.save({ ...client, enabled: false, notBefore: 1_700_000_000 }, first);
    const again = await clients.save({ ...client, notBefore: 5 }, first);
    expect(again).toMatchObject({ enabled: false, notBefore: 1_700_000_000 });
    expect(await clients.save({ ...client, enabled: true })).toMatchObject({ enabled: true });
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

  test('an encrypted key cannot be decrypted in the record of another client', async () => {
    const { clients } = openIdentity();
    const victim = await clients.save(newClient(), first);
    const thief = { ...victim, clientId: randomUUID() };
    expect(clients.secureKeys(thief)).toEqual([]);
    expect(clients.verifySecret(thief, first)).toBe(false);
  });
});

const HOUR = 60 * 60;

describeOnEngines('the record of a metadata document', ({ openIdentity }) => {
  const newDocument = () => {
    const clientId = `https://agent.example/${randomUUID()}`;
    return newClient({ clientId, orgId: '', public: true, grantTypes: ['authorization_code'] });
  };
  const inHours = (hours: number) => Math.floor(Date.now() / 1000) + hours * HOUR;

  test('is found while its host is accepted, and is not in the list of clients', async () => {
    const { clients, settings } = openIdentity();
    const described = newDocument();
    const { clientId } = described;
    await clients.rememberDocument(clientId, inHours(1), described);
    await settings.apply({ clientIdMetadata: { hosts: [] } });
    expect(await openIdentity().clients.find(clientId)).toBeUndefined();
    await settings.apply({ clientIdMetadata: { hosts: ['agent.example'] } });
    const other = openIdentity().clients;
    expect(await other.find(clientId)).toMatchObject({ clientId, public: true, enabled: true });
    const idsOf = (list: readonly { readonly clientId: string }[]) =>
      list.map((each) => each.clientId);
    expect(idsOf(await other.listDocuments())).toContain(clientId);
    expect(idsOf(await other.list())).not.toContain(clientId);
  });

  test('is extended, never shortened, and stays if an operator changes it', async () => {
    const { clients } = openIdentity();
    const described = newDocument();
    const { clientId } = described;
    await expect(clients.rememberDocument(clientId, inHours(1))).rejects.toThrow('No metadata');
    const expiries = [inHours(2), inHours(1), inHours(3)];
    const kept = [];
    for (const expiresAt of expiries) {
      const { document } = await clients.rememberDocument(clientId, expiresAt, described);
      kept.push(document?.expiresAt);
    }
    expect(kept).toEqual([expiries[0], expiries[0], expiries[2]]);
    await clients.update(clientId, (client) => ({ ...client, enabled: false }));
    const after = await clients.rememberDocument(clientId, inHours(9), { ...described, name: 'B' });
    expect([after.document, after.enabled, after.name]).toEqual([{}, false, 'B']);
  });

  test('never replaces a registered client', async () => {
    const { clients } = openIdentity();
    const described = newDocument();
    await clients.save({ ...described, orgId: 'org-1' });
    await expect(
      clients.rememberDocument(described.clientId, inHours(1), described),
    ).rejects.toThrow('No metadata document describes');
  });
});

test.each([
  ['https://agent.example/a', true],
  ['https://other.example/a', false],
  ['https://agent.example', undefined],
  ['https://agent.example:8443/a', undefined],
  ['https://a@agent.example/a', undefined],
  ['http://agent.example/a', undefined],
  ['agent.example/a', undefined],
])('%s is the address of a document on a listed host: %s', (clientId, isListed) => {
  const clientIdMetadata = { hosts: ['*', 'agent.example'], scopes: [] };
  const settings: Settings = { ...noSettings, clientIdMetadata };
  expect(documentHost(clientId, settings)?.isListed).toBe(isListed);
});
