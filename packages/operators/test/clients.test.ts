// requires: redis-server
import { CONSOLE_CLIENT_ID, clientRecordsKey, openIdentity } from '@gatehouse/identity';
import { expect, test } from '@jest/globals';
import { clientView, openOperators } from '../src/index.ts';
import { codeOf, describeOnBothEngines, operator } from './opened-operators.ts';

describeOnBothEngines('clients', (opened) => {
  const newClient = (clientId: string, more: object = {}) =>
    opened().operators.clients.create(operator, {
      clientId,
      name: clientId,
      orgId: 'acme',
      ...more,
    });
  const trail = async (clientId: string) =>
    (await opened().operators.audit.list({ clientId })).items.toReversed();

  test('show a new secure key once, and a supplied one never', async () => {
    const { client, secureKey } = await newClient('shown', { scopes: ['device:read'] });
    expect(secureKey).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(clientView.parse(client)).toEqual(client);
    const supplied = 'Qx7Zw2Kp9TfR4mVs';
    expect((await newClient('supplied', { secureKey: supplied })).secureKey).toBeUndefined();
    const { operators } = opened();
    const seen = JSON.stringify([
      await operators.clients.list(),
      await operators.clients.read('supplied'),
      await operators.audit.list(),
    ]);
    expect(seen).toContain('supplied');
    expect([secureKey, supplied].filter((key) => seen.includes(String(key)))).toEqual([]);
  });

  test('cannot be added twice, without an organization, or with invalid members', async () => {
    await newClient('taken');
    await expect(newClient('taken')).rejects.toMatchObject({ code: 'duplicate_key', status: 400 });
    expect(await codeOf(newClient('free', { orgId: 'none' }))).toBe('conflict');
    expect(await codeOf(newClient('free', { scopes: ['unknown:scope'] }))).toBe('conflict');
    const invalid = await newClient('free', { secureKey: 'marker', name: ' ' }).catch((e) => e);
    expect(invalid).toMatchObject({
      code: 'illegal_argument',
      problems: [{ property: 'name', message: 'must not be blank' }, { property: 'secureKey' }],
    });
    expect(invalid.message).not.toContain('marker');
    expect(await codeOf(opened().operators.clients.read('free'))).toBe('not_found');
  });

  test('that have no record, as that of the console, do not change', async () => {
    const { store, masterKey } = opened();
    const identity = openIdentity({ store, masterKey, consoleUrl: 'http://localhost:9020' });
    const { clients, clientKeys, audit } = openOperators(identity);
    const { client } = await clients.read(CONSOLE_CLIENT_ID);
    for (const act of [
      clients.change(operator, CONSOLE_CLIENT_ID, { enabled: false }),
      clients.remove(operator, CONSOLE_CLIENT_ID),
      clientKeys.rotate(operator, CONSOLE_CLIENT_ID),
      clientKeys.remove(operator, CONSOLE_CLIENT_ID, client.keys[0]?.keyId ?? ''),
    ]) {
      expect(await codeOf(act)).toBe('conflict');
    }
    expect((await audit.list({ clientId: CONSOLE_CLIENT_ID })).items).toEqual([]);
  });

  test('change only in the named members, and the trail has who, before and after', async () => {
    const { client } = await newClient('changed', { defaultResource: undefined, ipAllowList: [] });
    const { clients } = opened().operators;
    const change = { name: 'Other', lifetimes: { code: 60 } };
    expect((await clients.previewChange('changed', change)).changes).toEqual([
      { member: 'name', from: 'changed', to: 'Other' },
      { member: 'lifetimes', to: { code: 60 } },
    ]);
    const after = await clients.change(operator, 'changed', change);
    expect(after).toEqual({ ...client, ...change, version: expect.any(String) });
    expect(after.version).not.toBe(client.version);
    expect(await clients.change(operator, 'changed', { lifetimes: null, name: 'changed' })).toEqual(
      client,
    );
    const entries = await trail('changed');
    expect(entries[1]).toMatchObject({
      ...operator,
      ...{ event: 'client_changed', change: 'changed' },
      changes: [
        { member: 'name', from: 'changed', to: 'Other' },
        { member: 'lifetimes', to: { code: 60 } },
      ],
    });
    await clients.change(operator, 'changed', { name: 'changed' });
    expect(await trail('changed')).toHaveLength(entries.length);
    expect(await codeOf(clients.change(operator, 'changed', { unknown: 1 } as never))).toBe(
      'illegal_argument',
    );
  });

  test('of concurrent changes of the same version, one succeeds', async () => {
    const { client } = await newClient('raced');
    const processes = [opened().open(), opened().open()];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) =>
        processes[i % 2]?.operators.clients.change(
          operator,
          'raced',
          { name: `Name ${i}` },
          { ifVersion: client.version },
        ),
      ),
    );
    const failed = outcomes.filter((each) => each.status === 'rejected');
    expect(failed).toHaveLength(7);
    expect(failed.map(({ reason }) => reason.status)).toEqual(Array(7).fill(412));
    expect(await trail('raced')).toHaveLength(2);
  });

  test('that are disabled or moved lose what was issued, and the preview shows it', async () => {
    await newClient('disabled');
    const { operators, store } = opened();
    const key = clientRecordsKey('disabled', 'token:someTokenKey');
    await store.addToIndex(key, 'token:someTokenKey', Date.now() + 60_000);
    await store.set('token:someTokenKey', 'record');
    await operators.organizations.create(operator, { id: 'umbrella', name: 'Umbrella' });
    const { clients, tokens } = operators;
    expect(await tokens.previewRevocation({ clientId: 'disabled' })).toEqual({
      tokens: 1,
      clientIds: ['disabled'],
    });
    expect(await clients.previewChange('disabled', { orgId: 'umbrella' })).toMatchObject({
      movesFrom: 'acme',
      revokes: true,
    });
    const off = await clients.change(operator, 'disabled', { enabled: false });
    expect([off.enabled, off.notBefore > Date.now() / 1000 - 5]).toEqual([false, true]);
    expect(await store.get('token:someTokenKey')).toBeUndefined();
    const on = await clients.change(operator, 'disabled', { enabled: true });
    expect([on.enabled, on.notBefore]).toEqual([true, off.notBefore]);
    const changes = (await trail('disabled')).map((entry) => 'change' in entry && entry.change);
    expect(changes).toEqual(['added', 'disabled', 'enabled']);
  });

  test('rotate their keys, and lose one by its id', async () => {
    const { client } = await newClient('rotated');
    const { clientKeys } = opened().operators;
    const { keyId, secureKey } = await clientKeys.rotate(operator, 'rotated');
    expect(secureKey).toMatch(/^[A-Za-z0-9]{32}$/);
    await expect(clientKeys.rotate(operator, 'rotated')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(keyId),
    });
    expect(await codeOf(clientKeys.rotate(operator, 'rotated', { keepTokens: true }))).toBe(
      'illegal_argument',
    );
    const [first] = client.keys;
    const after = await clientKeys.remove(operator, 'rotated', first?.keyId ?? '');
    expect(after.keys).toMatchObject([{ keyId }]);
    expect(await codeOf(clientKeys.remove(operator, 'rotated', keyId))).toBe('conflict');
    const revoked = await clientKeys.rotate(operator, 'rotated');
    await clientKeys.remove(operator, 'rotated', keyId, { revoke: true });
    expect(revoked.client.notBefore).toBe(0);
    const changes = (await trail('rotated')).map((entry) => 'change' in entry && entry.change);
    expect(changes.slice(-2)).toEqual(['key_removed', 'revoked']);
  });

  test('are listed in pages, and found by the start of an id or of a word of a name', async () => {
    for (let i = 0; i < 5; i += 1) {
      await newClient(`paged-${i}`, { name: `Payment Backend ${i}` });
    }
    const { clients } = opened().operators;
    const idsOf = async (filter: Parameters<typeof clients.list>[0]) => {
      const ids: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await clients.list({ ...filter, cursor, limit: 2 });
        ids.push(...page.items.map(({ clientId }) => clientId));
        cursor = page.next;
      } while (cursor !== undefined);
      return ids;
    };
    const paged = Array.from({ length: 5 }, (_, i) => `paged-${i}`);
    for (const search of ['paged', 'PAYMENT b', 'backend', 'payment']) {
      expect([search, await idsOf({ search })]).toEqual([search, paged]);
    }
    expect(await idsOf({ search: 'end' })).toEqual([]);
    expect(await idsOf({ search: 'paged', orgId: 'none' })).toEqual([]);
    const all = await idsOf({});
    expect(all.filter((id) => id.startsWith('paged'))).toEqual(paged);
    expect(await idsOf({ orgId: 'acme' })).toEqual(all);
    await clients.change(operator, 'paged-3', { enabled: false, name: 'Renamed' });
    expect(await idsOf({ search: 'pay', disabled: true })).toEqual([]);
    expect(await idsOf({ search: 'ren', disabled: true })).toEqual(['paged-3']);
    const removed = await clients.remove(operator, 'paged-3');
    expect(removed).toEqual({ clientId: 'paged-3', orgId: 'acme', keys: 1, tokens: 0 });
    expect(await idsOf({ search: 'ren' })).toEqual([]);
    await expect(clients.list({ cursor: 'marker' })).rejects.toMatchObject({
      problems: [{ property: 'cursor' }],
    });
  });

  test('a condition of another version prevents a removal', async () => {
    const { client } = await newClient('kept');
    const { clients } = opened().operators;
    await clients.change(operator, 'kept', { name: 'Changed' });
    const condition = { ifVersion: client.version };
    expect(await codeOf(clients.remove(operator, 'kept', condition))).toBe('precondition_failed');
    expect((await clients.read('kept')).client.name).toBe('Changed');
  });
});
