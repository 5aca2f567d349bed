/** An attacker between the client and a real gateway changes, drops and forges replies. */

import { createHash, createHmac } from 'node:crypto';
import { type Attack, type ProxiedReply, startHostileProxy } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createDeviceClient, createSignedFetch, type GatehouseFetch } from '../src/index.ts';

const DAY = 86_400_000;
const credentials = { clientId: 'demo', secureKey: 'clientKey0123456789abcdefgh' };
const system = await startSystem({
  engine: 'sqlite',
  apps: ['gateway', 'device-service'],
  bootstrap: {
    organizations: [{ id: 'demo', name: 'Demo' }],
    clients: [
      {
        ...credentials,
        ...{ name: 'Demo', orgId: 'demo', grantTypes: ['client_credentials'] },
        scopes: ['device:read', 'device:write'],
      },
    ],
  },
});
const proxy = await startHostileProxy(system.gatewayUrl);
afterAll(() => proxy.close());

const direct = createDeviceClient(
  createSignedFetch({ gateway: system.gatewayUrl, ...credentials }),
).devices;
const clients = ([2, 1] as const).map((version) => ({
  version,
  api: createSignedFetch({ gateway: proxy.url, ...credentials, version }),
}));

function attackWith(attack: Attack): void {
  proxy.attack = attack;
  proxy.requests = 0;
}

async function failureOf(call: Promise<unknown>) {
  return call.then(
    () => ({ code: 'none' }),
    (error) => error,
  );
}

function post(api: GatehouseFetch, id: string) {
  return api('/device/instance', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name: id, productId: 'pump', productName: 'Pump' }),
  });
}

const changeHeader =
  (name: string, change: (value: string) => string | undefined): Attack =>
  (reply) => {
    const { [name]: value = '', ...others } = reply.headers;
    const changed = change(value);
    return { ...reply, headers: changed === undefined ? others : { ...others, [name]: changed } };
  };
const otherDigit = (value: string) => (value.endsWith('0') ? '1' : '0');

describe.each(clients)('with version $version', ({ version, api }) => {
  const signature = version === 2 ? 'x-sign-v2' : 'x-sign';

  test('a change of any byte of the body is detected', async () => {
    attackWith((reply) => reply);
    const { length } = Buffer.from(await (await api('/api/device')).arrayBuffer());
    const indexes = Array.from({ length }, (_, index) => index).filter((n) => n % 7 === 0);
    for (const index of indexes) {
      attackWith((reply) => {
        const body = Buffer.from(reply.body);
        body[index] = (body[index] ?? 0) ^ 1;
        return { ...reply, body };
      });
      expect(await failureOf(api('/api/device'))).toMatchObject({ code: 'unverified_reply' });
    }
    expect(indexes.length).toBeGreaterThan(5);
  });

  const attacks: Readonly<Record<string, Attack>> = {
    'another status': (reply) => ({ ...reply, status: 201 }),
    'another time': changeHeader('x-timestamp', (time) => time.slice(0, -1) + otherDigit(time)),
    'another signature': changeHeader(signature, (sign) => sign.slice(0, -1) + otherDigit(sign)),
    'no signature': changeHeader(signature, () => undefined),
    'no time': changeHeader('x-timestamp', () => undefined),
    'a longer body': (reply) => ({ ...reply, body: Buffer.concat([reply.body, Buffer.from(' ')]) }),
    'no body': (reply) => ({ ...reply, body: Buffer.alloc(0) }),
    'a forged not_found': () => forged(404, 'not_found'),
    'a forged success': () => forged(200, 'success'),
    'a redirect to another origin': () => ({
      status: 302,
      headers: { location: 'http://127.0.0.1:1/' },
      body: Buffer.alloc(0),
    }),
  };
  test.each(Object.keys(attacks))('%s is detected', async (name) => {
    attackWith(attacks[name] ?? (() => undefined));
    expect(await failureOf(api('/api/device'))).toMatchObject({ code: 'unverified_reply' });
  });

  test('a lost reply to a POST is reported, and the POST is not repeated', async () => {
    attackWith(() => undefined);
    const error = await failureOf(post(api, `lost-${version}`));
    expect(error).toMatchObject({ code: 'network_error', cause: { message: 'fetch failed' } });
    expect(proxy.requests).toBe(1);
    expect(await direct.get(`lost-${version}`)).toMatchObject({ name: `lost-${version}` });
  });

  test('a lost reply to a GET is repeated with a signature that was not used', async () => {
    attackWith((reply, requestNumber) => (requestNumber < 3 ? undefined : reply));
    expect((await api('/api/device')).status).toBe(200);
    expect(proxy.requests).toBe(3);
  });

  test.each([
    ['service_unavailable', 503],
    ['too_many_requests', 429],
  ])('a GET is repeated after %s', async (code, status) => {
    attackWith((reply, requestNumber) =>
      requestNumber === 1 ? forged(status, code, { 'retry-after': '0' }) : reply,
    );
    expect((await api('/api/device')).status).toBe(200);
    expect(proxy.requests).toBe(2);
  });

  test('a forged rejection of the clock has no lasting effect', async () => {
    const code = 'timestamp_out_of_range';
    attackWith(() => rejectedClock(Date.now() + DAY));
    expect(await failureOf(api('/api/device'))).toMatchObject({ code });
    expect(proxy.requests).toBe(2);

    attackWith((reply) => reply);
    expect((await api('/api/device')).status).toBe(200);
    expect(proxy.requests).toBe(1);
  });

  test('a time that no reply proves is signed only in a harmless GET', async () => {
    const { sent, recording } = recordingClient(version);
    attackWith(() => rejectedClock(Date.now() + DAY));
    const code = 'timestamp_out_of_range';
    expect(await failureOf(post(recording, 'future'))).toMatchObject({ code });
    expect(await failureOf(recording('/api/device'))).toMatchObject({ code });
    const isAhead = ({ timestamp }: Sent) => timestamp > Date.now() + DAY / 2;
    expect(new Set(sent.filter(isAhead).map(({ line }) => line))).toEqual(
      new Set(['GET /api/v1/token']),
    );
    expect(sent.filter(({ line }) => line.startsWith('POST'))).toEqual([]);
  });

  test('a rejection of the clock that arrives in place of a reply repeats no POST', async () => {
    const { sent, recording } = recordingClient(version);
    attackWith((reply) => reply);
    await recording('/api/device');
    attackWith((reply, requestNumber) => (requestNumber === 1 ? rejectedClock(Date.now()) : reply));
    expect(await failureOf(post(recording, `once-${version}`))).toMatchObject({
      code: 'timestamp_out_of_range',
    });
    expect(sent.filter(({ line }) => line.startsWith('POST'))).toHaveLength(1);
    expect(await direct.get(`once-${version}`)).toMatchObject({ id: `once-${version}` });
  });
});

describe('with version 2', () => {
  const api = clients[0]?.api ?? fetch;

  test('a reply to another request is detected', async () => {
    let earlier: ProxiedReply | undefined;
    attackWith((reply) => {
      earlier ??= reply;
      return earlier;
    });
    expect((await api('/api/device')).status).toBe(200);
    expect(await failureOf(api('/api/device'))).toMatchObject({ code: 'unverified_reply' });
  });

  test('a forged too_many_requests cannot make a POST take effect twice', async () => {
    const code = 'too_many_requests';
    attackWith(() => forged(429, code, { 'retry-after': '0' }));
    expect(await failureOf(post(api, code))).toMatchObject({ code });
    expect(proxy.requests).toBe(1);
    expect(await direct.count({ where: `name = ${code}` })).toBe(1);
  });

  test('a signed too_many_requests repeats a POST, with a new nonce', async () => {
    const { sent, recording } = recordingClient(2);
    attackWith((reply) => reply);
    await recording('/api/device');
    attackWith((reply, requestNumber, { 'x-nonce': nonce }) =>
      requestNumber === 1 ? signedLimit(String(nonce)) : reply,
    );
    // The proxy forwarded the first request, so the device exists.
    expect((await post(recording, 'limited')).status).toBe(400);
    const posts = sent.filter(({ line }) => line.startsWith('POST'));
    expect(new Set(posts.map(({ nonce }) => nonce)).size).toBe(2);
  });
});

test('a mistake that the gateway can explain is reported with its hint', async () => {
  attackWith((reply) => reply);
  const { secureKey } = credentials;
  const spaced = createSignedFetch({
    ...credentials,
    gateway: proxy.url,
    secureKey: `${secureKey}\n`,
  });
  expect(await failureOf(spaced('/api/device'))).toMatchObject({
    code: 'invalid_signature',
    hint: expect.stringContaining('secure key'),
  });
});

test.each([1, 2] as const)(
  'signs the path without the one that a proxy removes, with version %i',
  async (version) => {
    const api = createSignedFetch({
      ...credentials,
      gateway: `${system.gatewayUrl}/tenant`,
      version,
      fetch: (address, init) => {
        expect(String(address)).toMatch(/\/tenant\/api\/device\?pageSize=5$/);
        return fetch(String(address).replace('/tenant', ''), init);
      },
    });
    expect((await api('/api/device?pageSize=5')).status).toBe(200);
  },
);

interface Sent {
  readonly line: string;
  readonly timestamp: number;
  readonly nonce: string | null;
}

/** A client whose clock nothing has proven yet. */
function recordingClient(version: 1 | 2) {
  const sent: Sent[] = [];
  const recording = createSignedFetch({
    ...credentials,
    ...{ gateway: proxy.url, version },
    fetch: (input, init) => {
      const { method, url, headers } = new Request(input as URL, { ...init, body: null });
      sent.push({
        line: `${method} ${new URL(url).pathname}`,
        timestamp: Number(headers.get('x-timestamp')),
        nonce: headers.get('x-nonce'),
      });
      return fetch(input, init);
    },
  });
  return { sent, recording };
}

function rejectedClock(serverTime: number): ProxiedReply {
  const code = 'timestamp_out_of_range';
  const { body, ...reply } = forged(401, code, { date: new Date(serverTime).toUTCString() });
  const envelope = { ...JSON.parse(String(body)), result: { serverTime } };
  return { ...reply, body: Buffer.from(JSON.stringify(envelope)) };
}

function signedLimit(nonce: string): ProxiedReply {
  const { body, ...reply } = forged(429, 'too_many_requests', { 'retry-after': '0' });
  const timestamp = String(Date.now());
  const hash = createHash('sha256').update(body).digest('hex');
  const lines = ['GATEHOUSE-V2-REPLY', 429, nonce, hash, timestamp].join('\n');
  const signature = createHmac('sha256', credentials.secureKey).update(lines).digest('hex');
  const headers = { ...reply.headers, 'x-timestamp': timestamp, 'x-sign-v2': signature };
  return { ...reply, headers, body };
}

function forged(status: number, code: string, headers: Record<string, string> = {}): ProxiedReply {
  const envelope = { status, code, message: 'Forged.', timestamp: Date.now(), result: [] };
  const json = { 'content-type': 'application/json' };
  return { status, headers: { ...json, ...headers }, body: Buffer.from(JSON.stringify(envelope)) };
}
