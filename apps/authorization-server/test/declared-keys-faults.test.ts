/** Assertions, JWT access tokens and logout notices while the store fails: nothing fails open. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { clientSchema } from '@gatehouse/identity';
import { StoreFullError, StoreUnavailableError } from '@gatehouse/store';
import { createPageVisitor, until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice, client } from './installation.ts';
import { as, machineGrant, outcome } from './server.ts';
import { startWebsite } from './website.ts';

/** Operations on keys with this prefix fail. */
let failing: { readonly prefix: string; readonly error: Error } | undefined;
/** Room in the store, for budgets. */
let maximumBytes: number | undefined;
/** What another server writes right after the next read of the key. */
let changing: { readonly key: string; readonly text: string } | undefined;
const site = await startWebsite(['keys.example']);
const server = await startInProcess({
  async aroundStore(run, operation, key) {
    if (failing !== undefined && key.startsWith(failing.prefix)) {
      throw failing.error;
    }
    if (operation === 'ping' && maximumBytes !== undefined) {
      return { usedBytes: 0, maximumBytes };
    }
    const result = await run();
    if (operation === 'get' && key === changing?.key) {
      const { text } = changing;
      changing = undefined;
      await store.set(key, text);
      // The copy is old at once.
      advanceSeconds(1);
    }
    return result;
  },
  app: { outbound: { resolve: async () => ['93.184.215.14'], createConnector: site.dial } },
});
const { identity, issuer, store } = server;
const unavailable = (prefix: string) => ({ prefix, error: new StoreUnavailableError('test', '') });
async function whileFailing<Result>(how: typeof failing, work: () => Promise<Result>) {
  failing = how;
  try {
    return await work();
  } finally {
    failing = undefined;
  }
}

const RESOURCE = 'https://api.example';
await identity.settings.apply({
  resources: [
    {
      ...{ resource: RESOURCE, name: 'API', tokenFormat: 'jwt' },
      scopes: { 'api:read': { description: 'Read', roles: [] } },
    },
  ],
});
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const jwk = publicKey.export({ format: 'jwk' });
const save = (clientId: string, declared: object) =>
  identity.clients.save(
    clientSchema.parse(
      client({ clientId }, ['client_credentials'], ['device:read', 'api:read'], {
        ...{ public: false, ...declared },
      }),
    ),
  );
await save('signer', { jwks: { keys: [jwk] } });
site.handle = (_request, response) => response.end(JSON.stringify({ keys: [jwk] }));
const asserting = async (clientId = 'signer', kid?: string) => ({
  client_assertion: await new SignJWT({ iss: clientId, sub: clientId, jti: randomUUID() })
    .setProtectedHeader({ alg: 'EdDSA', ...(kid !== undefined && { kid }) })
    .setAudience(issuer)
    .setExpirationTime('1m')
    .sign(privateKey),
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
});

test('An assertion whose use cannot be stored gets 503, and can be sent again.', async () => {
  const fields = { ...machineGrant, ...(await asserting()) };
  const reply = await whileFailing(unavailable('assertion:'), () => server.token(fields, {}));
  expect(outcome(reply)).toEqual([503, 'temporarily_unavailable']);
  expect((await server.token(fields, {})).status).toBe(200);
  expect((await server.token(fields, {})).status).toBe(401);
});

const survivor = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const named = { ...jwk, kid: 'removed' };
test.each<readonly [string, object, object, string | undefined]>([
  ['is removed', { jwks: { keys: [named, { ...survivor, kid: 'kept' }] } }, {}, 'removed'],
  ['without kid is replaced', { jwks: { keys: [jwk] } }, {}, undefined],
  [
    'at an address is replaced',
    { jwksUri: 'https://keys.example/jwks' },
    { jwksUri: 'https://keys.example/other' },
    undefined,
  ],
])('A token is not live if its key %s meanwhile.', async (_change, before, after, kid) => {
  const clientId = `changing-${randomUUID()}`;
  const key = `client:${clientId}`;
  const kept = { jwks: { keys: [{ ...survivor, kid: 'kept' }] } };
  await save(clientId, 'jwksUri' in after ? after : kept);
  const text = String(await store.get(key));
  await identity.clients.change(clientId, (record) => ({
    ...record,
    ...{ jwks: undefined, jwksUri: undefined, ...before },
  }));
  const issue = async () =>
    server.token({ ...machineGrant, ...(await asserting(clientId, kid)) }, {});
  const { access_token: earlier } = (await issue()).body;
  expect(await server.isActive(earlier)).toBe(true);
  const fields = { ...machineGrant, ...(await asserting(clientId, kid)) };
  advanceSeconds(1);
  changing = { key, text };
  const { access_token: token } = (await server.token(fields, {})).body;
  expect(changing).toBeUndefined();
  expect(await server.isActive(earlier)).toBe(false);
  expect(token === undefined || !(await server.isActive(token))).toBe(true);
});

test('While the settings are unavailable, keys at an address are not read, but soon after.', async () => {
  await save('remote', { jwksUri: 'https://keys.example/remote' });
  const fields = { ...machineGrant, ...(await asserting('remote')) };
  advanceSeconds(1);
  const reply = await whileFailing(unavailable('settings'), () => server.token(fields, {}));
  expect(outcome(reply)).toEqual([503, 'temporarily_unavailable']);
  expect(outcome(await server.token(fields, {}))).toEqual([200, undefined]);
});

test('The revocation of a JWT succeeds only if it was stored.', async () => {
  const fields = { ...machineGrant, resource: RESOURCE, ...(await asserting()) };
  const { access_token: token } = (await server.token(fields, {})).body;
  const revoke = async () => server.post('/revoke', { token, ...(await asserting()) }, {});
  const failed = await whileFailing(unavailable('grant-tombstone:'), revoke);
  expect(failed.status).toBe(503);
  expect(await server.isActive(token)).toBe(true);
  const read = await whileFailing(unavailable('grant-tombstone:'), async () => {
    await until(async () => (await server.introspect(token)).error !== undefined);
    return server.introspect(token);
  });
  expect(read).toMatchObject({ error: 'temporarily_unavailable' });
  expect((await revoke()).status).toBe(200);
  await until(async () => !(await server.isActive(token)));
});

test.each([
  ['full', new StoreFullError('test', '')],
  ['unavailable', new StoreUnavailableError('test', '')],
])(
  'A sign-out does not fail because the queue is %s, and the loss is reported.',
  async (_state, error) => {
    const app = {
      ...{ clientId: `app-${randomUUID()}`, secureKey: 'appKey0123456789abcdef' },
      redirectUri: 'https://notified.example/callback',
    };
    await identity.clients.save(
      clientSchema.parse(
        client(app, ['authorization_code'], ['openid'], {
          ...{ firstParty: true, backchannelLogoutUri: 'https://notified.example/logout' },
          secureKey: app.secureKey,
        }),
      ),
      app.secureKey,
    );
    const visitor = createPageVisitor();
    const how = { client_id: app.clientId, redirect_uri: app.redirectUri, scope: 'openid' };
    const code = await server.newCode(how, alice, visitor);
    const redeemed = await server.redeem(code, { redirect_uri: app.redirectUri }, as(app));
    expect(redeemed.status).toBe(200);
    const reply = await whileFailing({ prefix: 'logout-', error }, async () =>
      visitor.submit(await visitor.get(`${issuer}/logout`), { logout: 'yes' }),
    );
    expect(reply.status).toBe(303);
    expect((await visitor.get(`${issuer}/account`)).location).toContain('/authorize?');
    await until(async () => {
      await identity.audit.flush();
      const filter = { event: 'logout_undelivered', clientId: app.clientId, limit: 1 };
      return (await identity.audit.read(filter)).length === 1;
    });
  },
);

test('JWTs of a machine use up its budget, so that their revocations fit.', async () => {
  const billed = { clientId: 'billed', secureKey: 'billedKey0123456789abc' };
  await identity.clients.save(
    clientSchema.parse(client(billed, ['client_credentials'], ['api:read'])),
    billed.secureKey,
  );
  const issue = () => server.token({ ...machineGrant, resource: RESOURCE }, as(billed));
  expect((await issue()).status).toBe(200);
  maximumBytes = 4096;
  advanceSeconds(2);
  const statuses: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    statuses.push((await issue()).status);
  }
  maximumBytes = undefined;
  advanceSeconds(2);
  expect(statuses.at(-1)).toBe(429);
});
