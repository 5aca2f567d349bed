// requires: redis-server redis-cli
/**
 * Anonymous requests write only what is listed here, and its sum keeps the promise of
 * docs/security.md.
 */
import {
  type Constellation,
  createPageVisitor,
  listStoredKeys,
  type StoredKey,
  until,
} from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  MAXIMUM_PARAMETER_BYTES,
  storedRequestLimits,
} from '../apps/authorization-server/src/throttle/stored-budgets.ts';

const MIB = 1024 * 1024;
const REQUESTS = 10;
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

/**
 * Everything that anonymous requests write. Limits count in windows that do not slide, so the
 * records of two windows can exist at the same time. Bytes are those of a record in Redis whose
 * parameters have the maximum size.
 */
const counted = [
  { prefix: 'rate:pages:', bytes: 170, records: 1 },
  { prefix: 'rate:introspection:', bytes: 170, records: 1 },
  { prefix: 'rate:client-endpoints:', bytes: 170, records: 1 },
  // Wrong client secrets: 256 counters of an address group.
  { prefix: 'failed-secrets:', bytes: 170, records: 256 },
  // Wrong passwords: one for each name, 300 in a window.
  { prefix: 'sign-ins:account:', bytes: 170, records: 600 },
  { prefix: 'sign-ins:address:', bytes: 170, records: 1 },
  { prefix: 'attempts:user-code:', bytes: 170, records: 2 },
  { prefix: 'stored-bytes:', bytes: 170, records: 24 },
  { prefix: 'rate:address:', bytes: 170, records: 1 },
  { prefix: 'rate:address-credentials:', bytes: 170, records: 1 },
];
const { pushed: pushedLimits, device: deviceLimits } = storedRequestLimits;
/** Records that a budget in bytes, or a trail of limited size, bounds: MiB of 1 and 100 groups. */
const budgeted = [
  {
    prefix: 'oidc:PushedAuthorizationRequest:',
    bytes: pushedLimits.costOf(MAXIMUM_PARAMETER_BYTES),
    group: (2 * pushedLimits.addressBytes) / MIB,
    hundred: (2 * pushedLimits.publicBytes) / MIB,
  },
  {
    prefix: 'oidc:DeviceCode:',
    bytes: deviceLimits.costOf(MAXIMUM_PARAMETER_BYTES),
    group: (2 * deviceLimits.addressBytes) / MIB,
    hundred: (2 * deviceLimits.publicBytes) / MIB,
  },
  // Charged to the budget of device codes.
  { prefix: 'device-poll:', bytes: 170, group: 0, hundred: 0 },
  { prefix: 'device-code:', bytes: 230, group: 0, hundred: 0 },
  { prefix: 'audit', bytes: undefined, group: 7, hundred: 14 },
  { prefix: 'request-log', bytes: undefined, group: 4.257, hundred: 7.411 },
];
/**
 * A fixed number of cells of a bounded size, and one entry for each process. They are no
 * part of what an address group can store.
 */
const fixed = ['time-series:', 'processes'];
const rows = [...counted, ...budgeted];

test('one address group can store less than 16 MiB, and 100 less than 64 MiB', () => {
  const ofCounters = counted.reduce((sum, { bytes, records }) => sum + bytes * records, 0) / MIB;
  const group = budgeted.reduce((sum, row) => sum + row.group, ofCounters);
  const hundred = budgeted.reduce((sum, row) => sum + row.hundred, 100 * ofCounters);
  expect(group).toBeLessThan(16);
  expect(hundred).toBeLessThan(64);
});

const systems = await startOnEachEngine({
  bootstrap,
  environment: { TRUSTED_PROXIES: '127.0.0.0/8,::1' },
});

describe.each(systems)('what anonymous requests store, on $engine', ({ engine, system }) => {
  let before: ReadonlySet<string>;
  let added: readonly StoredKey[];

  beforeAll(async () => {
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

  test('is listed above, and everything that is listed is stored', () => {
    const prefixes = rows.map(({ prefix }) => prefix);
    const known = [...prefixes, ...fixed];
    const unlisted = added.filter(({ key }) => !known.some((prefix) => key.startsWith(prefix)));
    expect(unlisted).toEqual([]);
    const unused = prefixes.filter((prefix) => !added.some(({ key }) => key.startsWith(prefix)));
    expect(unused).toEqual([]);
  });

  test('is at most as large as stated, and at least half as large', () => {
    for (const { prefix, bytes } of rows.filter((row) => row.bytes !== undefined)) {
      const sizes = added.filter(({ key }) => key.startsWith(prefix)).map((key) => key.bytes);
      const largest = Math.max(...sizes);
      expect([prefix, largest <= Number(bytes) || largest]).toEqual([prefix, true]);
      // Of the two engines, Redis is the one that runs out of memory.
      if (engine === 'redis') {
        expect([prefix, largest >= Number(bytes) / 2 || largest]).toEqual([prefix, true]);
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
  const post = (path: string, form: Record<string, string>) =>
    postFrom(address, issuer + path, form);
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

const postFrom = (address: string, url: string, form: Record<string, string>) =>
  fetch(url, {
    method: 'POST',
    headers: { 'x-forwarded-for': address },
    body: new URLSearchParams(form),
  });

const push = (system: Constellation, address: string, parameters: Record<string, string>) =>
  postFrom(address, `${system.authorizationServerUrl}/par`, { ...authorization(), ...parameters });

async function startDevice(
  system: Constellation,
  address: string,
  parameters: Record<string, string>,
): Promise<{ readonly device_code: string; readonly user_code: string }> {
  const url = `${system.authorizationServerUrl}/device/auth`;
  const reply = await postFrom(address, url, { client_id: tv, ...parameters });
  return (await reply.json()) as { device_code: string; user_code: string };
}
