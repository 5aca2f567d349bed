// requires: redis-server
import {
  clientRecordsKey,
  clientSchema,
  type Declarations,
  settingsSchemas,
} from '@gatehouse/identity';
import { expect, test } from '@jest/globals';
import { openOperators } from '../src/index.ts';
import { codeOf, describeOnBothEngines, operator } from './opened-operators.ts';

type Clients = Declarations['clients'];

describeOnBothEngines('declarations', (opened) => {
  const acts = () => opened().operators.declarations;
  const client = (clientId: string, more: Partial<Clients[number]> = {}): Clients[number] => {
    const secureKey = more.public ? undefined : 'Qx7Zw2Kp9TfR4mVs';
    const named = { clientId, name: clientId, orgId: 'acme', secureKey };
    const { secureKey: _, ...declared } = clientSchema.parse({ ...named, ...more });
    return declared;
  };
  const declare = (more: Partial<Declarations>): Declarations => ({
    ...{ organizations: [], clients: [] },
    ...more,
  });
  const entries = async () => (await opened().operators.audit.list({ limit: 1000 })).items.length;
  const billing = (description: string) => ({
    ...{ resource: 'https://billing.example', name: 'Billing' },
    scopes: { 'billing:read': { description, roles: [] } },
  });

  test('add and change what they name, in one order, and a second run changes nothing', async () => {
    const declared = declare({
      organizations: [{ id: 'umbrella', name: 'Umbrella' }],
      ...{ resources: [billing('See invoices')], lifetimes: { code: 60 } },
      clients: [client('biller', { orgId: 'umbrella', scopes: ['billing:read'] })],
    });
    const { changes, version } = await acts().plan(declared);
    expect(changes.map(({ action, kind, id }) => [action, kind, id])).toEqual([
      ['add', 'organization', 'umbrella'],
      ['change', 'settings', undefined],
      ['add', 'client', 'biller'],
    ]);
    expect(changes.flatMap(({ effects }) => effects)).toEqual([]);
    const before = await entries();
    expect(await acts().plan(declared)).toEqual({ changes, version });
    expect(await entries()).toBe(before);

    const applied = await acts().apply(operator, declared, {}, { ifVersion: version });
    expect(applied).toEqual({
      done: changes,
      secureKeys: [{ clientId: 'biller', secureKey: expect.stringMatching(/^[A-Za-z0-9]{32}$/) }],
      notDone: [],
    });
    const { client: added } = await opened().operators.clients.read('biller');
    expect(added).toMatchObject({ defaultResource: 'https://billing.example', orgId: 'umbrella' });
    const after = await entries();
    expect(after).toBe(before + 3);
    expect((await acts().plan(declared)).changes).toEqual([]);
    expect(await acts().apply(operator, declared)).toEqual({
      done: [],
      secureKeys: [],
      notDone: [],
    });
    expect(await entries()).toBe(after);
    expect((await opened().operators.clients.read('biller')).client).toEqual(added);

    const changed = declare({
      resources: [billing('Read invoices')],
      clients: [client('biller', { orgId: 'umbrella', lifetimes: { code: 30 } })],
    });
    const next = await acts().plan(changed);
    expect(next.changes.map(({ members }) => members)).toEqual([
      [
        {
          member: 'resources.https://billing.example.scopes.billing:read.description',
          ...{ from: 'See invoices', to: 'Read invoices' },
        },
      ],
      [
        { member: 'scopes', from: ['billing:read'], to: [] },
        { member: 'defaultResource', from: 'https://billing.example' },
        { member: 'lifetimes', to: { code: 30 } },
      ],
    ]);
    expect(await codeOf(acts().apply(operator, changed, {}, { ifVersion: version }))).toBe(
      'precondition_failed',
    );
    await acts().apply(operator, changed, {}, { ifVersion: next.version });
    expect((await acts().plan(changed)).changes).toEqual([]);
    expect((await opened().operators.settings.read()).settings.lifetimes).toEqual({ code: 60 });
  });

  test('an export declares what exists, without secrets, defaults and registered clients', async () => {
    const { operators, identity } = opened();
    const upstream = {
      ...{ id: 'idp', name: 'IdP', issuer: 'https://idp.example', clientId: 'gatehouse' },
      clientSecret: 'marker-of-a-secret',
    };
    await operators.settings.change(operator, 'upstreams', [upstream]);
    await operators.clients.create(operator, {
      ...{ clientId: 'exported', name: 'Exported', orgId: 'acme', secureKey: 'Qx7Zw2Kp9TfR4mVs' },
    });
    await operators.clients.change(operator, 'exported', { enabled: false });
    await identity.clients.save({
      ...client('registered'),
      registration: { issuedAt: 1, tokenHash: 'hash', redirectHosts: [] },
    });
    const exported = await acts().export();
    expect(exported.clients).toContainEqual({
      ...{ clientId: 'exported', name: 'Exported', orgId: 'acme', enabled: false },
    });
    expect(exported.clients.map(({ clientId }) => clientId)).not.toContain('registered');
    expect(JSON.stringify(exported)).not.toMatch(/marker|Qx7Zw2Kp9TfR4mVs/);

    const { organizations: _organizations, clients: _clients, ...settings } = exported;
    expect((await acts().plan(declare(settings), { prune: true })).changes).toEqual([]);
    const other = { ...upstream, clientSecret: 'another-marker' };
    const rotated = await acts().plan(
      declare({ upstreams: settingsSchemas.upstreams.parse([other]) }),
    );
    expect(rotated.changes[0]?.members).toContainEqual({ member: 'upstreams.idp.clientSecret' });
    expect(JSON.stringify(rotated)).not.toContain('marker');
  });

  test('prune removes the others of each kind that is named, and states the effect first', async () => {
    const { operators, store } = opened();
    await operators.organizations.create(operator, { id: 'gone', name: 'Gone' });
    await operators.clients.create(operator, { clientId: 'pruned', name: 'P', orgId: 'acme' });
    await operators.clients.create(operator, { clientId: 'of-gone', name: 'G', orgId: 'gone' });
    const key = clientRecordsKey('pruned', 'token:prunedTokenKey');
    await store.addToIndex(key, 'token:prunedTokenKey', Date.now() + 60_000);

    const exported = await acts().export();
    const all = exported as unknown as Declarations;
    const kept = (ids: readonly string[]) =>
      exported.clients
        .filter(({ clientId }) => !ids.includes(clientId))
        .map((each) => client(each.clientId, each as Partial<Clients[number]>));
    const { upstreams: _stays, ...others } = all;
    const declared = declare({
      ...{ ...others, lifetimes: {} },
      organizations: all.organizations.filter(({ id }) => id !== 'gone'),
      clients: kept(['pruned', 'of-gone']),
    });
    expect((await acts().plan(declared)).changes).toEqual([]);
    const { changes } = await acts().plan(declared, { prune: true });
    expect(changes).toEqual([
      expect.objectContaining({ kind: 'settings', effects: ['removes lifetimes.code'] }),
      expect.objectContaining({ action: 'remove', id: 'of-gone', effects: ['ends 0 tokens'] }),
      expect.objectContaining({ action: 'remove', id: 'pruned', effects: ['ends 1 token'] }),
      expect.objectContaining({ id: 'gone', effects: ['removes 1 client and 0 users'] }),
    ]);
    const onlyClients = await acts().plan(declare({ clients: kept(['pruned']) }), { prune: true });
    expect(onlyClients.changes).toMatchObject([{ action: 'remove', id: 'pruned' }]);

    await acts().apply(operator, declared, { prune: true });
    expect(await store.members(key)).toEqual([]);
    expect(await codeOf(operators.organizations.read('gone'))).toBe('not_found');
    expect((await acts().plan(declared, { prune: true })).changes).toEqual([]);
    expect((await acts().plan(declare({}), { prune: true })).changes).toEqual([]);

    const again = declare({ organizations: [{ id: 'gone', name: 'Gone' }] });
    expect((await acts().plan(again)).changes).toMatchObject([
      { action: 'add', effects: ['gets the devices of the removed organization with its id'] },
    ]);
  });

  test('that name something unknown, or something that prune removes, change nothing', async () => {
    const unknown = declare({
      organizations: [{ id: 'never', name: 'Never' }],
      clients: [client('lost', { orgId: 'none' }), client('scoped', { scopes: ['no:scope'] })],
    });
    await expect(acts().apply(operator, unknown)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/client lost, orgId: .*client scoped, scopes: .*no:scope/),
    });
    const orphan = declare({
      organizations: [{ id: 'never', name: 'Never' }],
      clients: [client('orphan')],
    });
    await expect(acts().plan(orphan, { prune: true })).rejects.toMatchObject({
      message: expect.stringContaining('client orphan, orgId: names an organization'),
    });
    expect(await codeOf(opened().operators.organizations.read('never'))).toBe('not_found');
  });

  test('disabling, moving and making public end what was issued, and say so', async () => {
    const { operators, store } = opened();
    await operators.organizations.create(operator, { id: 'target', name: 'Target' });
    await operators.clients.create(operator, { clientId: 'moved', name: 'moved', orgId: 'acme' });
    const key = clientRecordsKey('moved', 'token:movedTokenKey');
    await store.addToIndex(key, 'token:movedTokenKey', Date.now() + 60_000);
    const wanted = { orgId: 'target', enabled: false, public: true, grantTypes: [] };
    const declared = declare({ clients: [client('moved', wanted)] });
    const { changes } = await acts().plan(declared);
    expect(changes[0]?.effects).toEqual([
      ...['moves from acme to target', 'ends 1 token', 'deletes its secure keys'],
    ]);
    await acts().apply(operator, declared);
    expect(await store.members(key)).toEqual([]);
    expect((await acts().plan(declared)).changes).toEqual([]);
    const confidential = { ...wanted, public: false };
    const back = await acts().plan(declare({ clients: [client('moved', confidential)] }));
    expect(back.changes[0]?.effects).toEqual([expect.stringContaining('without a key')]);
    const silent = declare({ clients: [client('moved', { ...wanted, enabled: undefined })] });
    expect((await acts().plan(silent)).changes).toEqual([]);
  });

  test('a failure in the middle reports what was done, what was not, and new secure keys', async () => {
    const { operators, identity } = opened();
    const [first, second] = [client('first-of-two'), client('second-of-two')];
    const declared = declare({ clients: [first, second, client('third-of-two')] });
    // Another operator adds the second client while the first one is recorded.
    const write = identity.audit.write;
    const raced = { ...identity, audit: { ...identity.audit } };
    raced.audit.write = async (...words) => {
      await operators.clients.create(operator, {
        ...{ clientId: 'second-of-two', name: 'Other', orgId: 'acme' },
      });
      raced.audit.write = write;
      return write(...words);
    };
    const applied = await openOperators(raced).declarations.apply(operator, declared);
    expect(applied).toMatchObject({
      done: [{ id: 'first-of-two' }],
      secureKeys: [{ clientId: 'first-of-two', secureKey: expect.any(String) }],
      notDone: [{ id: 'second-of-two' }, { id: 'third-of-two' }],
      failure: { code: 'duplicate_key' },
    });
    const repeated = await operators.declarations.apply(operator, declared);
    expect(repeated.done).toMatchObject([
      { action: 'change', id: 'second-of-two' },
      { action: 'add', id: 'third-of-two' },
    ]);
  });
});
