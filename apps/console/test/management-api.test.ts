/** Every operation of the management API, with the examples of its own document. */
import { createReplyValidator } from '@gatehouse/testing/open-api';
import { describe, expect, test } from '@jest/globals';
import { operations } from '../src/api/document.ts';
import { type Answer, olga, type Sent, startManagementApis, writer } from './management-api.ts';

const apis = await startManagementApis();

describe.each(apis)('the management API on $engine', ({ system: api }) => {
  const { send, post, patch } = api;

  async function validator() {
    const document = (await send('/openapi.json', { token: undefined })).body;
    const validate = createReplyValidator(document);
    return (name: string, target: string, { status, headers, body }: Answer) => {
      const method = operations.find((each) => each.name === name)?.method ?? '';
      const [mediaType] = (headers.get('content-type') ?? '').split(';');
      validate({ method, target, status, body, mediaType });
    };
  }

  test('serves every operation as its document describes it', async () => {
    const validate = await validator();
    const used = new Set<string>();
    const example = (name: string) => operations.find((each) => each.name === name)?.example;
    /** Calls an operation with its example, and checks the reply. */
    async function call(name: string, target: string, sent: Sent = {}, expected?: number) {
      const operation = operations.find((each) => each.name === name);
      const { method = '', isCreation, body } = operation ?? {};
      const json = body === undefined ? {} : { json: example(name) };
      const answer = await send(target, { method, ...json, ...sent });
      const status = expected ?? (isCreation ? 201 : 200);
      expect([name, answer.status, answer.body]).toEqual([name, status, answer.body]);
      validate(name, target, answer);
      used.add(name);
      return answer;
    }

    await call('organizations.create', '/organizations');
    await call('organizations.list', '/organizations?search=ac');
    await call('organizations.read', '/organizations/acme');
    await call('organizations.change', '/organizations/acme');
    const { body: client } = await call('clients.create', '/clients');
    expect(client.secureKey).toMatch(/^[\w-]{20,}$/);
    await call('clients.list', '/clients?orgId=acme&disabled=false');
    await call('clients.read', '/clients/fleet');
    await call('clients.change', '/clients/fleet');
    await call('clients.preview-change', '/clients/fleet/preview');
    const { body: rotated } = await call('client-keys.create', '/clients/fleet/keys');
    const key = `/clients/fleet/keys/${rotated.client.keys[1].keyId}?keepTokens=true`;
    expect((await call('client-keys.remove', key)).body.keys).toHaveLength(1);
    await call('registration-tokens.create', '/registration-tokens');
    const planned = await call('declarations.plan', '/declarations/plan');
    await call('declarations.apply', '/declarations', {
      headers: { 'if-match': `"${planned.body.version}"` },
    });
    const { body: exported } = await call('declarations.export', '/declarations');
    expect(exported.organizations).toContainEqual({ id: 'acme', name: 'Acme' });
    const { body: added } = await call('users.create', '/users');
    const user = `/users/${added.user.userId}`;
    await call('users.list', '/users?search=pa');
    await call('users.find', '/users/find', { json: { name: 'sam' } });
    await call('users.change', user);
    await call('users.preview-change', `${user}/preview`);
    await call('users.set-password', `${user}/password`);
    await call('users.issue-reset-link', `${user}/reset-link`);
    await call('users.unlock', `${user}/unlock`);
    const { token } = await api.signIn();
    const signedIn = `/users/${await api.userId(olga.username)}`;
    const { body: details } = await call('users.read', signedIn);
    expect(details).toMatchObject({ factors: { recoveryCodes: 10, passkeys: [] } });
    const [{ id }, ...others] = details.sessions;
    expect([id, others]).toEqual([expect.any(String), []]);
    const found = await call('tokens.find', '/tokens/find', { json: { token } });
    expect(found.body).toMatchObject({ state: 'active', userId: details.userId });
    expect(JSON.stringify(found.body)).not.toContain(token);
    await call('users.end-session', `${signedIn}/sessions/${id}`);
    await call('users.end-grants', `${signedIn}/applications/gatehouse:console`, {}, 404);
    await call('users.reset-factors', `${user}/factors`);
    await call('invitations.create', '/invitations');
    await call('invitations.withdraw', '/invitations/withdraw');
    await call('revocations.preview', '/revocations/preview');
    await call('revocations.create', '/revocations');
    await call('signing-keys.list', '/signing-keys');
    await call('signing-keys.create', '/signing-keys', { json: { purpose: 'gateway' } });
    const audit = await call('audit.list', '/audit?severities=notice,warning,alert&limit=1000');
    expect(new Set(audit.body.items.map(({ actor }: { actor: string }) => actor))).toContain(
      'console',
    );
    await call('requests.list', '/requests?limit=5');
    await call('requests.groups', '/requests/groups');
    await call('requests.read', '/requests/no-such-request', {}, 404);
    const { body: settings } = await call('settings.read', '/settings');
    expect(settings.settings.operators).toEqual({ roles: ['operations'] });
    const member = '/settings/selfService';
    await call('settings.preview', `${member}/preview`, { json: { data: true } });
    const changed = await call('settings.replace', member, { json: { data: true } });
    expect(changed.body.settings.selfService).toEqual({ data: true });
    const without = await call('settings.remove', member);
    expect(without.body.settings).not.toHaveProperty('selfService');
    await call('support-bundle.read', '/support-bundle');
    await call('users.preview-removal', `${user}/removal`);
    await call('users.remove', user);
    await call('clients.preview-removal', '/clients/fleet/removal');
    await call('clients.remove', '/clients/fleet');
    await call('organizations.preview-removal', '/organizations/acme/removal');
    await call('organizations.remove', '/organizations/acme');
    expect([...used].sort()).toEqual(operations.map(({ name }) => name).sort());
  });

  test('changes only the version that the caller saw', async () => {
    const created = await post('/organizations', { id: 'versions', name: 'A' });
    expect(created.headers.get('location')).toBe(`${api.resource}/organizations/versions`);
    const etag = created.headers.get('etag') ?? '';
    expect(etag).toBe(`"${created.body.version}"`);
    const place = '/organizations/versions';
    expect((await send(place, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const attempts = ['B', 'C', 'D'].map((name) =>
      patch(place, { name }, { headers: { 'if-match': etag } }),
    );
    const statuses = (await Promise.all(attempts)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 412, 412]);
    const outdated = await send(place, { method: 'DELETE', headers: { 'if-match': etag } });
    expect(outdated.body).toMatchObject({ code: 'precondition_failed', status: 412 });
    const tags = { '*': 200, 'W/"x"': 412, x: 400, '"a", "b"': 400 };
    for (const [tag, status] of Object.entries(tags)) {
      const answer = await patch(place, { name: 'E' }, { headers: { 'if-match': tag } });
      expect([tag, answer.status]).toEqual([tag, status]);
    }
    expect((await patch(place, { name: 'F' })).status).toBe(200);
  });

  test('merges a change of a client with the rules of RFC 7396', async () => {
    const { clientId: _id, ...definition } = writer;
    await post('/clients', { ...definition, clientId: 'merged', lifetimes: { accessToken: 600 } });
    const merge = { headers: { 'content-type': 'application/merge-patch+json' } };
    const set = (json: object) => patch('/clients/merged', json, merge);
    const { body } = await set({ lifetimes: { refreshToken: 7200 }, ipAllowList: ['192.0.2.1'] });
    expect(body).toMatchObject({ lifetimes: { accessToken: 600, refreshToken: 7200 } });
    const removed = await set({ lifetimes: { accessToken: null }, jwksUri: null });
    expect(removed.body).toMatchObject({
      lifetimes: { refreshToken: 7200 },
      scopes: writer.scopes,
    });
    expect((await set({ lifetimes: null })).body).not.toHaveProperty('lifetimes');
    const at = await Promise.all(
      ['accessToken', 'refreshToken', 'idToken'].map((name) =>
        set({ lifetimes: { [name]: 3600 } }),
      ),
    );
    expect(at.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await send('/clients/merged')).body.lifetimes).toEqual({
      ...{ accessToken: 3600, refreshToken: 3600, idToken: 3600 },
    });
  });

  test('pages through a list that changes meanwhile', async () => {
    const ids = Array.from({ length: 7 }, (_unused, i) => `page-${i}`);
    for (const id of ids) {
      await post('/organizations', { id, name: id });
    }
    const seen: string[] = [];
    let target: string | undefined = `${api.resource}/organizations?search=page-&limit=2`;
    while (target !== undefined) {
      const { body, headers }: Answer = await send(target);
      seen.push(...body.items.map(({ id }: { readonly id: string }) => id));
      const link = headers.get('link');
      expect(link === null).toBe(body.next === undefined);
      target = /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];
      if (seen.length === 2) {
        await send('/organizations/page-1', { method: 'DELETE' });
        await send('/organizations/page-4', { method: 'DELETE' });
        await post('/organizations', { id: 'page-31', name: 'page-31' });
      }
    }
    const expected = ['page-0', 'page-1', 'page-2', 'page-3', 'page-31', 'page-5', 'page-6'];
    expect([...seen].sort()).toEqual(expected.sort());
  });

  test('explains in the reply what is wrong with a request', async () => {
    const json = { 'content-type': 'application/json' };
    const rows: readonly (readonly [number, string, string, Sent, string])[] = [
      [400, 'POST', '/organizations', { json: { id: 'a b', name: '' } }, 'id: '],
      [400, 'POST', '/organizations', { json: [] }, 'body: must be a JSON object'],
      [400, 'POST', '/organizations', { body: '{"id":"x","id":"y"}' }, 'repeats a member name'],
      [400, 'POST', '/organizations', { headers: json }, 'body: is missing'],
      [400, 'POST', '/users', { json: { username: 'x' } }, 'name: '],
      [
        400,
        'POST',
        '/clients',
        { json: { clientId: 'x', extra: 1 } },
        'body: has unknown members: extra',
      ],
      [400, 'GET', '/clients?limit=0', {}, 'limit: must be a whole number from 1 to 1000'],
      [
        400,
        'GET',
        '/clients?color=red',
        {},
        'color: is not a parameter of this operation. It has cursor, limit',
      ],
      [400, 'GET', '/clients?search=a&search=b', {}, 'search: must occur once'],
      [400, 'GET', '/clients?cursor=x', {}, 'cursor'],
      [400, 'GET', '/settings?x=1', {}, 'x: is not a parameter'],
      [400, 'DELETE', '/settings/nothing', {}, 'member: must be one of'],
      [400, 'PUT', '/settings/operators', { body: 'null' }, 'DELETE removes a member'],
      [400, 'POST', '/users/x/unlock', { json: {} }, 'body: is not accepted'],
      [400, 'POST', '/organizations', { json: {}, headers: { 'idempotency-key': 'a b' } }, 'Idem'],
      [404, 'GET', '/clients/nobody', {}, 'The client nobody does not exist'],
      [404, 'GET', '/nothing', {}, 'GET /admin/v1/openapi.json lists all of them'],
      [405, 'PUT', '/clients', { json: {} }, 'It supports GET, HEAD, POST'],
      [
        400,
        'PUT',
        '/settings/resources',
        { json: [conflicting] },
        'Rename it, or unset CONSOLE_URL',
      ],
      [
        415,
        'POST',
        '/organizations',
        { body: 'id=x', headers: form },
        'Content-Type: application/json',
      ],
      [
        415,
        'POST',
        '/organizations',
        { json: {}, headers: { 'content-encoding': 'gzip' } },
        'compressed',
      ],
      [413, 'POST', '/organizations', { body: ' '.repeat(4_200_000) }, '4194304 bytes'],
    ];
    for (const [status, method, path, sent, detail] of rows) {
      const answer = await send(path, { method, ...sent });
      const { body, headers } = answer;
      expect([method, path, answer.status, body.detail]).toEqual([
        ...[method, path, status, expect.stringContaining(detail)],
      ]);
      expect(headers.get('content-type')).toBe('application/problem+json');
      expect(body.requestId).toBe(headers.get('x-request-id'));
      const errors = Array.isArray(body.errors) ? body.errors : [];
      expect(status === 400 && errors.length === 0).toBe(false);
    }
  });
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const conflicting = {
  ...{ resource: 'https://machines.example', name: 'Machines' },
  scopes: { 'operator:write': { description: 'Change machines', roles: [] } },
};
