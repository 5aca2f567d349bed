/** The functions for operators, at a console and an authorization server. */
import { startSystem } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { createAdminClient, createTokenFetch } from '../src/index.ts';

const machine = { clientId: 'automation', secureKey: 'automationKey0123456789abc' };
const { consoleUrl, authorizationServerUrl } = await startSystem({
  engine: 'sqlite',
  apps: ['authorization-server', 'console'],
  bootstrap: {
    organizations: [{ id: 'org-1', name: 'One' }],
    clients: [
      {
        ...{ ...machine, name: 'Automation', orgId: 'org-1' },
        ...{ grantTypes: ['client_credentials'], scopes: ['operator:read', 'operator:write'] },
      },
    ],
  },
});

/** Method and path of every request. */
const sent: (readonly [string, string])[] = [];
const admin = createAdminClient(
  createTokenFetch({
    ...{ gateway: consoleUrl, tokenEndpoint: `${authorizationServerUrl}/token` },
    ...{ clientId: machine.clientId, clientSecret: machine.secureKey },
    fetch: (input, init) => {
      const { pathname } = new URL(String(input));
      sent.push([init?.method ?? 'GET', pathname]);
      return fetch(input, init);
    },
  }),
);

async function all<Item>(pages: AsyncIterable<{ readonly items: readonly Item[] }>) {
  const items: Item[] = [];
  for await (const page of pages) {
    items.push(...page.items);
  }
  return items;
}

test('creates, changes and removes a client, with versions and a repeated creation', async () => {
  const definition = { clientId: 'one', name: 'One', orgId: 'org-1' };
  const options = { idempotencyKey: 'a-key' };
  const created = await admin.clients.create(definition, options);
  expect(await admin.clients.create(definition, options)).toEqual(created);
  const { version } = created.client;
  const changed = await admin.clients.change('one', { name: 'Two' }, { ifVersion: version });
  expect(changed.name).toBe('Two');
  const outdated = admin.clients.remove('one', { ifVersion: version });
  await expect(outdated).rejects.toMatchObject({ code: 'precondition_failed', status: 412 });
  const names = (await all(admin.clients.list({ orgId: 'org-1', limit: 1 }))).map(
    ({ name }) => name,
  );
  expect(names.sort()).toEqual(['Automation', 'Two']);
  const [entry] = await all(admin.audit.list({ clientId: 'one' }));
  expect(entry).toMatchObject({ operator: machine.clientId, change: 'changed' });
  expect(await admin.clients.remove('one')).toMatchObject({ clientId: 'one', keys: 1 });
  await expect(admin.clients.read('one')).rejects.toMatchObject({
    ...{ name: 'GatehouseError', code: 'not_found', message: 'The client one does not exist.' },
    requestId: expect.any(String),
  });
});

test('applies declarations in the version of their plan', async () => {
  const client = { clientId: 'declared', name: 'Declared', orgId: 'org-1' };
  const { changes, version } = await admin.declarations.plan({ clients: [client] });
  expect(changes).toMatchObject([{ action: 'add', kind: 'client', id: 'declared' }]);
  const outdated = admin.declarations.apply({ clients: [client] }, { ifVersion: 'another' });
  await expect(outdated).rejects.toMatchObject({ code: 'precondition_failed', status: 412 });
  const applied = await admin.declarations.apply({ clients: [client] }, { ifVersion: version });
  expect(applied).toMatchObject({ done: changes, secureKeys: [{ clientId: 'declared' }] });
  const { clients } = await admin.declarations.export();
  expect(clients).toContainEqual(client);
});

test('has a function for every operation of the API', async () => {
  sent.length = 0;
  const id = 'a/b';
  const { organizations, clients, users, declarations, tokens, signingKeys, requests, settings } =
    admin;
  const definition = { clientId: 'c', name: 'C', orgId: 'none' };
  const person = { username: 'u', name: 'U', orgId: 'none' };
  const calls: readonly Promise<unknown>[] = [
    ...[all(organizations.list({ search: 'x' })), organizations.create({ id: 'o', name: 'O' })],
    ...[organizations.read(id), organizations.change(id, { name: 'X' })],
    ...[organizations.previewRemoval(id), organizations.remove(id)],
    ...[all(clients.list()), clients.create(definition), clients.read(id), clients.remove(id)],
    ...[clients.change(id, {}), clients.previewChange(id, {}), clients.previewRemoval(id)],
    ...[clients.addKey(id), clients.removeKey(id, id, { keepTokens: true })],
    clients.issueRegistrationToken({ orgId: 'none', redirectHosts: ['app.example'] }),
    ...[all(users.list()), users.find('nobody'), users.create(person), users.read(id)],
    ...[users.change(id, {}), users.previewChange(id, {}), users.previewRemoval(id)],
    ...[users.remove(id), users.setPassword(id), users.issueResetLink(id), users.unlock(id)],
    ...[users.resetFactors(id), users.endSession(id, id), users.endGrants(id, id)],
    users.invite({ email: 'a@example.com', orgId: 'none' }),
    users.withdrawInvitation('a@example.com'),
    ...[tokens.find('x'), tokens.previewRevocation({ all: true }), tokens.revoke({ userId: id })],
    ...[signingKeys.list(), signingKeys.rotate('gateway'), all(admin.audit.list())],
    ...[all(requests.list()), requests.groups({ limit: 5 }), requests.read('no-such-request')],
    ...[settings.read(), settings.preview('selfService', {}), settings.remove('selfService')],
    ...[settings.replace('selfService', { data: false }), admin.supportBundle()],
    ...[declarations.export(), declarations.plan({}), declarations.apply({})],
  ];
  const replies = await Promise.allSettled(calls);
  const codes = replies.map((reply) => (reply.status === 'rejected' ? reply.reason.code : 'ok'));
  expect([...new Set(codes)].sort()).toEqual(['conflict', 'not_found', 'ok']);
  const { paths } = (await (await fetch(`${consoleUrl}/admin/v1/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} /admin/v1${path}`),
  );
  const called = described.filter((operation) => {
    const [method, pattern = ''] = operation.split(' ');
    const expression = new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return sent.some(([used, path]) => used === method && expression.test(path));
  });
  expect(called).toEqual(described);
});
