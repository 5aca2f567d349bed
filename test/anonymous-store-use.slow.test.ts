// requires: redis-server redis-cli
/**
 * Compares the table of docs/security.md with the data that anonymous requests write.
 */
import {
  type Constellation,
  createPageVisitor,
  integrationEngines,
  listStoredKeys,
  type StoredKey,
  startConstellation,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { storedRequestLimits } from '../apps/authorization-server/src/provider/adapters/stored-request-budget.ts';
import { MAXIMUM_PARAMETER_BYTES } from '../apps/authorization-server/src/provider/policy/parameter-limit.ts';
import { readDocument, tableRows } from './documents.ts';

const MIB = 1024 * 1024;
const REQUESTS = 10;
const form = 'application/x-www-form-urlencoded';
const tv = 'anonymous-tv';
const application = 'anonymous-application';
const publicClient = { orgId: 'org-1', public: true, scopes: ['device:read'] };
const bootstrap = {
  organizations: [{ id: 'org-1', name: 'One' }],
  clients: [
    {
      ...publicClient,
      clientId: tv,
      name: 'TV',
      grantTypes: ['urn:ietf:params:oauth:grant-type:device_code'],
    },
    {
      ...publicClient,
      clientId: application,
      name: 'Application',
      grantTypes: ['authorization_code', 'password'],
      redirectUris: ['https://anonymous.example/callback'],
    },
  ],
  users: [],
};

interface Row {
  /** The prefix of the keys. The last row is the sum. */
  readonly prefix: string;
  /** The maximum size of one record. NaN if the row names what limits it. */
  readonly bytes: number;
  /** Records of one address group at the same time. NaN if a budget in bytes limits them. */
  readonly records: number;
  /** MiB of one address group, and of 100 groups. */
  readonly group: number;
  readonly hundred: number;
}

const rows: readonly Row[] = tableRows(
  readDocument('docs/security.md'),
  'What anonymous requests can store',
).map(({ cells }) => {
  const [, key = '', bytes, records, , group, hundred] = cells;
  const prefix = key.replaceAll('`', '');
  return {
    prefix,
    bytes: Number(bytes),
    records: Number(records),
    group: Number(group),
    hundred: Number(hundred),
  };
});
const recordRows = rows.filter(({ prefix }) => prefix !== 'sum');
const measuredRows = recordRows.filter(({ bytes }) => !Number.isNaN(bytes));
const roundUp = (mebibytes: number) => Math.ceil(mebibytes * 1000) / 1000;

describe('the table of what anonymous requests can store', () => {
  test('adds up to less than 16 MiB for one address group and 64 MiB for 100', () => {
    const sum = (of: (row: Row) => number) => recordRows.reduce((total, row) => total + of(row), 0);
    const total = rows.find(({ prefix }) => prefix === 'sum');
    expect(total?.group).toBeCloseTo(
      sum(({ group }) => group),
      2,
    );
    expect(total?.hundred).toBeCloseTo(
      sum(({ hundred }) => hundred),
      2,
    );
    expect(total?.group).toBeLessThan(16);
    expect(total?.hundred).toBeLessThan(64);
  });

  test('multiplies bytes and records', () => {
    const counted = measuredRows.filter(({ records }) => !Number.isNaN(records));
    expect(counted.length).toBeGreaterThan(5);
    for (const { prefix, bytes, records, group, hundred } of counted) {
      expect([prefix, group]).toEqual([prefix, roundUp((bytes * records) / MIB)]);
      expect([prefix, hundred]).toEqual([prefix, roundUp((100 * bytes * records) / MIB)]);
    }
  });

  test.each([
    ['oidc:PushedAuthorizationRequest:', storedRequestLimits.pushed],
    ['oidc:DeviceCode:', storedRequestLimits.device],
  ])('contains the budget of %s twice, because a window does not slide', (prefix, limits) => {
    const row = rows.find((each) => each.prefix === prefix);
    expect(row?.group).toBe((2 * limits.addressBytes) / MIB);
    expect(row?.hundred).toBe((2 * limits.publicBytes) / MIB);
    expect(row?.bytes).toBe(limits.costOf(MAXIMUM_PARAMETER_BYTES));
  });
});

describe.each(integrationEngines)('what anonymous requests store, on %s', (engine) => {
  let system: Constellation;
  let before: ReadonlySet<string>;
  let added: readonly StoredKey[];

  beforeAll(async () => {
    system = await startConstellation({
      engine,
      bootstrap,
      environment: { TRUSTED_PROXIES: '127.0.0.0/8,::1' },
    });
    before = new Set((await listStoredKeys(system.storeUrl)).map(({ key }) => key));
    for (let i = 0; i < REQUESTS; i += 1) {
      await sendEverything(system, i);
    }
    // The apps write the request log once a second.
    await until(async () => {
      added = (await listStoredKeys(system.storeUrl)).filter(({ key }) => !before.has(key));
      return added.some(({ key }) => key.startsWith('request-log:'));
    });
  });
  afterAll(() => system.stop());

  test('has a row in the table for every key, and every row has a key', () => {
    const prefixes = recordRows.map(({ prefix }) => prefix);
    const unlisted = added.filter(({ key }) => !prefixes.some((prefix) => key.startsWith(prefix)));
    expect(unlisted).toEqual([]);
    const unused = prefixes.filter((prefix) => !added.some(({ key }) => key.startsWith(prefix)));
    expect(unused).toEqual([]);
  });

  test('is at most as large as the table states, and at least half as large', () => {
    for (const { prefix, bytes } of measuredRows) {
      const sizes = added.filter(({ key }) => key.startsWith(prefix)).map((key) => key.bytes);
      const largest = Math.max(...sizes);
      expect([prefix, largest <= bytes || largest]).toEqual([prefix, true]);
      // Of the two engines, Redis is the one that runs out of memory.
      if (engine === 'redis') {
        expect([prefix, largest >= bytes / 2 || largest]).toEqual([prefix, true]);
      }
    }
  });

  test('never takes more bytes than a budget charges, whatever the length of the parameters', async () => {
    const { pushed, device } = storedRequestLimits;
    for (const length of [1, 500, 1500, 3700]) {
      const login_hint = 'x'.repeat(length);
      const known = new Set((await listStoredKeys(system.storeUrl)).map(({ key }) => key));
      await push(system, '203.0.113.1', { login_hint });
      await startDevice(system, '203.0.113.1', { login_hint });
      const fresh = (await listStoredKeys(system.storeUrl)).filter(({ key }) => !known.has(key));
      const costOf = (prefix: string) =>
        fresh.filter(({ key }) => key.startsWith(prefix)).reduce((sum, key) => sum + key.bytes, 0);
      const bytesOf = (parameters: object) => JSON.stringify({ ...parameters, login_hint }).length;
      const ofPushed = pushed.costOf(bytesOf(authorization()));
      expect(costOf('oidc:PushedAuthorizationRequest:')).toBeGreaterThan(ofPushed / 3);
      expect(costOf('oidc:PushedAuthorizationRequest:')).toBeLessThan(ofPushed);
      const ofDevice = device.costOf(bytesOf({ client_id: tv, scope: 'device:read' }));
      expect(costOf('oidc:DeviceCode:')).toBeGreaterThan(ofDevice / 3);
      // Adds the keys that a browser and the device create later: a polling counter and two claims.
      expect(costOf('oidc:DeviceCode:') + 3 * 230).toBeLessThan(ofDevice);
    }
  });
});

/** Sends every anonymous request that writes, from a new address. */
async function sendEverything(system: Constellation, i: number): Promise<void> {
  const { authorizationServerUrl: issuer, gatewayUrl } = system;
  // Addresses of IPv6 make the longest keys.
  const address = `2001:db8:${(0x1000 + i).toString(16)}:ff00::1`;
  const from = { 'x-forwarded-for': address };
  const post = (path: string, parameters: Record<string, string>) =>
    fetch(issuer + path, {
      method: 'POST',
      headers: { ...from, 'content-type': form },
      body: new URLSearchParams(parameters),
    });
  const visitor = createPageVisitor((url, init = {}) =>
    fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...from } }),
  );
  const hint = 'x'.repeat(3600);
  const query = new URLSearchParams({ ...authorization(), login_hint: hint });
  const { location } = await visitor.get(`${issuer}/authorize?${query}`);
  const signIn = await visitor.get(location ?? '');
  await visitor.submit(signIn, { username: `nobody-${i}`, password: 'a wrong password' });
  await visitor.get(`${issuer}/logout?state=${hint}`);
  const device = await startDevice(system, address, { login_hint: hint });
  await post('/token', {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: tv,
    device_code: device.device_code,
  });
  const page = await visitor.get(`${issuer}/device`);
  const wrong = await visitor.submit(page, { user_code: 'BCDFGHJK' });
  const question = await visitor.submit(wrong, { user_code: device.user_code });
  await visitor.submit(question, i % 2 ? { confirm: 'yes' } : { abort: 'yes' });
  await push(system, address, { login_hint: hint });
  await post('/introspect', { client_id: `nobody-${i}`, client_secret: 'wrong', token: 'x' });
  await post('/revoke', { client_id: application, token: 'x' });
  await post('/token', {
    grant_type: 'password',
    client_id: application,
    username: `n-${i}`,
    password: 'x',
  });
  for (const headers of [{}, { authorization: `Bearer ${i}` }, signature(i)]) {
    await fetch(`${gatewayUrl}/api/device`, { headers: { ...from, ...headers } });
  }
}

const authorization = () => ({
  response_type: 'code',
  client_id: application,
  scope: 'device:read',
  redirect_uri: 'https://anonymous.example/callback',
  code_challenge: 'c'.repeat(43),
  code_challenge_method: 'S256',
});

const signature = (i: number) => ({
  'x-client-id': `nobody-${i}`,
  'x-timestamp': String(Date.now()),
  'x-sign': 'f'.repeat(64),
});

function push(system: Constellation, address: string, parameters: Record<string, string>) {
  return fetch(`${system.authorizationServerUrl}/par`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address, 'content-type': form },
    body: new URLSearchParams({ ...authorization(), ...parameters }),
  });
}

async function startDevice(
  system: Constellation,
  address: string,
  parameters: Record<string, string>,
): Promise<{ readonly device_code: string; readonly user_code: string }> {
  const reply = await fetch(`${system.authorizationServerUrl}/device/auth`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address, 'content-type': form },
    body: new URLSearchParams({ client_id: tv, ...parameters }),
  });
  return (await reply.json()) as { device_code: string; user_code: string };
}
