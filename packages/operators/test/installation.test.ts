// requires: redis-server
import { openIdentity } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import { openOperators } from '../src/index.ts';
import { codeOf, describeOnBothEngines, issueToken, operator } from './opened-operators.ts';

describeOnBothEngines('organizations', (opened) => {
  test('are renamed under a condition, found by a word, and removed with their members', async () => {
    const { organizations, clients, audit } = opened().operators;
    const created = await organizations.create(operator, { id: 'umbrella', name: 'Umbrella Inc.' });
    const condition = { ifVersion: created.version };
    const renamed = await organizations.change(operator, 'umbrella', { name: 'Other' }, condition);
    expect(renamed).toEqual({ id: 'umbrella', name: 'Other', version: expect.any(String) });
    expect(
      await codeOf(organizations.change(operator, 'umbrella', { name: 'Third' }, condition)),
    ).toBe('precondition_failed');
    const found = async (search: string) =>
      (await organizations.list({ search })).items.map(({ id }) => id);
    expect([await found('inc'), await found('OTH')]).toEqual([[], ['umbrella']]);
    await clients.create(operator, { clientId: 'member', name: 'Member', orgId: 'umbrella' });
    expect(await organizations.previewRemoval('umbrella')).toEqual({
      ...{ organizationId: 'umbrella', clientIds: ['member'], users: 0 },
    });
    const removed = await organizations.remove(operator, 'umbrella');
    expect(removed).toEqual({ organizationId: 'umbrella', clients: 1, users: 0 });
    const again = { id: 'umbrella', name: 'Again' };
    const { removedAt } = await organizations.previewCreation(again);
    expect(removedAt).toBeGreaterThan(0);
    expect(await codeOf(organizations.create(operator, again))).toBe('conflict');
    await organizations.create(operator, again, { reusesId: true });
    const { items } = await audit.list({ event: 'organization_changed' });
    expect(items).toMatchObject([
      { changes: [{ from: 'Umbrella Inc.', to: 'Other' }], ...operator },
    ]);
  });
});

describeOnBothEngines('tokens', (opened) => {
  test('are found by their value, previewed with what they end, and revoked', async () => {
    const { operators, store } = opened();
    await operators.clients.create(operator, {
      ...{ clientId: 'holder', name: 'Holder', orgId: 'acme', scopes: ['device:read'] },
    });
    const token = await issueToken(opened(), { clientId: 'holder', aud: 'https://a.example' });
    const view = await operators.tokens.find(token);
    expect(view).toMatchObject({
      ...{ kind: 'AccessToken', state: 'active', clientId: 'holder', scopes: ['device:read'] },
      ...{ resource: 'https://a.example', expiresAt: view.issuedAt + 7200 },
    });
    expect(JSON.stringify(view)).not.toContain(token);
    const granted = await issueToken(opened(), { clientId: 'holder', grantId: 'granted' });
    for (const member of ['one', 'two', 'three']) {
      await store.addToIndex('grant-members:granted', member, Date.now() + 60_000);
    }
    const effect = { tokens: 3, clientIds: ['holder'] };
    expect(await operators.tokens.previewRevocation({ token: granted })).toEqual(effect);
    expect((await operators.tokens.find(granted)).state).toBe('active');
    expect(await operators.tokens.revoke(operator, { token: granted })).toEqual(effect);
    expect(await codeOf(operators.tokens.find(granted))).toBe('not_found');
    await operators.tokens.revoke(operator, { clientId: 'holder' });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect((await operators.tokens.find(token)).state).toBe('revoked');
    const all = await operators.tokens.previewRevocation({ all: true });
    expect(all).toEqual({ clients: 1, users: 0 });
    await operators.tokens.revoke(operator, { all: true });
    const { items } = await operators.audit.list({ limit: 3 });
    expect(items.map(({ event }) => event)).toEqual([
      ...['everything_revoked', 'client_changed', 'token_revoked'],
    ]);
    expect(JSON.stringify(items)).not.toContain(granted);
    for (const target of [{ token: 'unknown' }, { clientId: 'nobody' }, { userId: 'nobody' }]) {
      expect(await codeOf(operators.tokens.revoke(operator, target))).toBe('not_found');
    }
    expect(await codeOf(operators.tokens.revoke(operator, {} as never))).toBe('illegal_argument');
  });
});

describeOnBothEngines('the logs', (opened) => {
  const request = (at: number, i: number, more: object = {}) => ({
    ...{ at, requestId: `request-${i}`, app: 'gateway', operation: 'devices', verified: false },
    ...{ status: 401, aborted: false, code: 'invalid_signature', reason: 'signature_malformed' },
    ...{ durationMs: 1, addressGroup: `192.0.2.${i}`, clientId: 'caller', ...more },
  });

  test('have pages in which each request is once, also of the same time, and groups', async () => {
    const { identity, operators } = opened();
    const now = Date.now();
    for (let i = 0; i < 9; i += 1) {
      identity.requestLog.record(request(now + Math.floor(i / 4), i));
    }
    identity.requestLog.record(request(now - 5000, 9, { code: 'timeout', reason: 'timeout' }));
    await identity.requestLog.flush();
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await operators.requests.list({ cursor, limit: 2 });
      ids.push(...page.items.map(({ requestId }) => requestId));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(ids.toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => `request-${i}`));
    expect([ids[0], ids.at(-1)]).toEqual(['request-8', 'request-9']);
    const group = { clientId: 'caller', operation: 'devices' };
    expect(await operators.requests.groups()).toEqual([
      {
        ...{ code: 'invalid_signature', ...group, count: 9, first: now, last: now + 2 },
        ...{ reasons: [expect.any(String)], requestId: 'request-8' },
      },
      {
        ...{ code: 'timeout', ...group, count: 1, first: now - 5000, last: now - 5000 },
        ...{ reasons: ['timeout'], requestId: 'request-9' },
      },
    ]);
    expect(await operators.requests.groups({ since: now, code: 'timeout' })).toEqual([]);
    const { requests, audit } = await operators.requests.read('request-9');
    expect([requests[0]?.explanation?.stage, audit]).toEqual(['forward', []]);
    expect(await codeOf(operators.requests.read('request-unknown'))).toBe('not_found');
    await expect(operators.requests.list({ reason: 'marker' })).rejects.toMatchObject({
      problems: [{ property: 'reason' }],
    });
  });

  test('the audit trail has pages', async () => {
    const { operators } = opened();
    const known = (await operators.audit.list({ limit: 1000 })).items.length;
    await operators.record(
      operator,
      ...Array.from({ length: 7 }, () => ({ event: 'everything_revoked' }) as const),
    );
    const ids = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await operators.audit.list({ cursor, limit: 3 });
      for (const { id } of page.items) {
        ids.add(id);
      }
      cursor = page.next;
    } while (cursor !== undefined);
    expect(ids.size).toBe(known + 7);
  });
});

describeOnBothEngines('settings', (opened) => {
  test('one change moves a scope to another resource', async () => {
    const { settings } = opened().operators;
    const scopes = { 'moved:read': { description: 'Read', roles: [] } };
    const [one, two] = ['https://one.example', 'https://two.example'].map((resource) => ({
      ...{ resource, name: resource, scopes },
    }));
    await settings.change(operator, 'resources', [one]);
    expect((await settings.change(operator, 'resources', [two])).resources).toEqual([two]);
    await expect(settings.change(operator, 'resources', [one, two])).rejects.toThrow(
      'both declare',
    );
    await settings.change(operator, 'resources', null);
  });

  test('a member is replaced as a whole under a condition, and audited without secrets', async () => {
    const { settings, audit } = opened().operators;
    const { version: ifVersion } = (await settings.read()).settings;
    expect(await settings.previewChange('roles', ['one', 'two'])).toEqual({
      changes: [{ member: 'roles', from: [], to: ['one', 'two'] }],
    });
    const after = await settings.change(operator, 'roles', ['one', 'two'], { ifVersion });
    expect(after.roles).toEqual(['one', 'two']);
    expect(await codeOf(settings.change(operator, 'roles', ['three'], { ifVersion }))).toBe(
      'precondition_failed',
    );
    expect((await settings.change(operator, 'roles', ['two'])).roles).toEqual(['two']);
    expect((await settings.change(operator, 'roles', null)).roles).toEqual([]);
    const { items } = await audit.list({ event: 'settings_changed', limit: 2 });
    expect(items).toMatchObject([
      { ...operator, changes: [{ member: 'roles', from: ['two'], to: [] }] },
      { changes: [{ member: 'roles', from: ['one', 'two'], to: ['two'] }] },
    ]);
    for (const [member, value, property] of [
      ['lifetimes', { accessToken: -1 }, 'lifetimes.accessToken'],
      ['browserHosts', [{ host: 'a.example', name: 'A', orgId: 'none' }], 'browserHosts.0.orgId'],
      ['unknown', [], ''],
    ] as const) {
      await expect(settings.change(operator, member as never, value)).rejects.toMatchObject({
        code: 'illegal_argument',
        problems: [{ property }],
      });
    }
  });

  test('an absent client secret of a provider stays, unless another server would get it', async () => {
    const { operators, identity } = opened();
    const { settings } = operators;
    const provider = { id: 'corp', name: 'Corp', issuer: 'https://corp.example', clientId: 'c' };
    await settings.change(operator, 'upstreams', [{ ...provider, clientSecret: 'marker-secret' }]);
    const stored = async () => (await identity.settings.preview({})).upstreams.get('corp');
    const sealed = (await stored())?.clientSecret ?? '';
    expect(identity.sealer.tryOpen(sealed, 'settings')).toBe('marker-secret');
    const shown = await settings.change(operator, 'upstreams', [{ ...provider, name: 'Renamed' }]);
    expect((await stored())?.clientSecret).toBe(sealed);
    expect(JSON.stringify([shown, await operators.audit.list()])).not.toMatch(/marker|v1\./);
    const same = await settings.previewChange('upstreams', [{ ...provider, name: 'Renamed' }]);
    expect(same.changes).toEqual([]);
    const issuer = 'https://other.example';
    await settings.change(operator, 'upstreams', [{ ...provider, issuer }]);
    expect((await stored())?.clientSecret).toBeUndefined();
  });
});

describeOnBothEngines('signing keys', (opened) => {
  test('have a schedule, and a successor is published once', async () => {
    const { operators, identity } = opened();
    const { signingKeys } = operators;
    expect(await signingKeys.list()).toEqual([]);
    const origin = { actor: 'gateway' };
    const day = 24 * 60 * 60 * 1000;
    await identity.keepSigningKeys('gateway', origin, { now: () => Date.now() - day }).load();
    const [first] = await signingKeys.list();
    expect(first).toMatchObject({ purpose: 'gateway', algorithm: 'EdDSA', state: 'signing' });
    const [next, current] = await signingKeys.rotate(operator, 'gateway');
    expect([next?.state, current?.state, current?.kid]).toEqual([
      'published',
      'signing',
      first?.kid,
    ]);
    expect(current?.signsUntil).toBe((next?.createdAt ?? 0) + 60 * 60);
    expect(current?.deletedAt).toBeGreaterThan(current?.signsUntil ?? 0);
    await expect(signingKeys.rotate(operator, 'gateway')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(next?.kid ?? ''),
    });
    const { items } = await operators.audit.list({ event: 'signing_key_made', limit: 1 });
    expect(items).toMatchObject([{ ...operator, kid: next?.kid }]);
  });
});

describeOnBothEngines('the installation', (opened) => {
  test('a support bundle has no secret, and no user', async () => {
    const { store, masterKey } = opened();
    const identity = openIdentity({ store, masterKey, consoleUrl: 'http://localhost:9020' });
    const operators = openOperators(identity);
    const { user } = await operators.users.create(operator, {
      ...{ username: 'marker-name', name: 'Marker Person', email: 'marker@person.example' },
      ...{ orgId: 'acme', password: 'marker password 1', roles: ['marker-role'] },
    });
    const { secureKey = '' } = await operators.clients.create(operator, {
      ...{ clientId: 'weak', name: 'Marker Client', orgId: 'acme', signatureAlgorithm: 'MD5' },
    });
    const token = await issueToken(opened(), { clientId: 'weak' });
    const provider = { id: 'corp', name: 'Corp', issuer: 'https://corp.example', clientId: 'c' };
    await operators.settings.changeMembers(operator, {
      operators: { roles: ['marker-role'] },
      upstreams: [{ ...provider, clientSecret: 'marker-secret' }],
    });
    const report = { app: 'gateway', version: '1.0.0', ready: true, checks: {} };
    const route = { route: 'GET /a', requires: 'scope: device:read', origin: 'file' } as const;
    const setting = { name: 'STORE_URL', origin: 'variable' } as const;
    const routes = { count: 1, first: [route] };
    await identity.processes.enter().report({ ...report, settings: [setting], routes });
    const at = Date.now();
    for (const [index, addressGroup] of ['192.0.2.77', '192.0.2.78', '192.0.2.78'].entries()) {
      identity.requestLog.record({
        ...{ at: at + index, requestId: 'marker-request', app: 'gateway', operation: 'devices' },
        ...{ verified: false, aborted: false, durationMs: 1, addressGroup, clientId: 'weak' },
        ...{ userAgent: 'marker-agent', finding: 'marker-finding', reason: 'token_expired' },
      });
    }
    await identity.requestLog.flush();
    const bundle = await operators.installation.supportBundle();
    expect(bundle).toMatchObject({
      processes: [{ ...report, settings: [setting], routes }],
      settings: { upstreams: [provider] },
      findings: [
        { id: 'operator_has_one_factor', objects: [{ kind: 'user', id: user.userId }] },
        { id: 'client_uses_md5', objects: [{ kind: 'client', id: 'weak' }] },
      ],
      figures: { points: expect.any(Array) },
      failures: [
        { reason: 'token_expired', count: 3, networks: 2, operations: ['gateway devices'] },
      ],
    });
    const text = JSON.stringify(bundle);
    const encoded = [masterKey.toString('hex'), masterKey.toString('base64')];
    for (const secret of [...encoded, secureKey, token, user.username, '192.0.2.']) {
      expect([secret, text.includes(secret)]).toEqual([secret, false]);
    }
    expect(text.replaceAll('marker-role', '')).not.toMatch(/marker|v1\./i);
  });

  test('a reload is audited, and an audit entry that is lost is 503 with Retry-After', async () => {
    const { operators, store, masterKey } = opened();
    await operators.installation.reload(operator);
    const { items } = await operators.audit.list({ event: 'reload_requested' });
    expect(items).toMatchObject([operator]);
    const append = () => Promise.reject(new StoreUnavailableError('append', new Error('lost')));
    const failing = openIdentity({ store: { ...store, append }, masterKey });
    await expect(openOperators(failing).installation.reload(operator)).rejects.toMatchObject({
      ...{ status: 503, headers: { 'Retry-After': '1' } },
      message: 'The change was made, but the audit trail could not record it.',
    });
  });
});
