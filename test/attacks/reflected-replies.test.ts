// requires: redis-server
/**
 * An attacker reads the traffic of a client that signs with version 1, and sends the gateway's
 * signed replies back as requests: unchanged, as a form, and split at the first `=` as a query.
 */
import {
  type Constellation,
  integrationEngines,
  signatureHeaders,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const secureKey = 'attackedKey0123456789';
const json = { 'Content-Type': 'application/json' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const client = {
  name: 'Attacked',
  orgId: 'org-1',
  secureKey,
  grantTypes: ['client_credentials'],
  scopes: ['device:read', 'device:write', 'device:log', 'device:report'],
};
const bootstrap = {
  organizations: [{ id: 'org-1', name: 'Attacked' }],
  // The twin has the same key, because operators sometimes give two clients the same key.
  clients: [
    { ...client, clientId: 'attacked' },
    { ...client, clientId: 'twin' },
  ],
};

interface Captured {
  readonly text: string;
  readonly timestamp: string;
  readonly signature: string;
}

interface Attack {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const device = '/api/v1/device/valve';

/** The reported attack, and similar ones. */
const attacks: Readonly<Record<string, (captured: Captured) => Attack>> = {
  'lists every device': ({ text }) => withBody('POST', '/device-instance/_query', text),
  'counts every device': ({ text }) => withBody('POST', '/device/instance/_count', text),
  'lists devices by a form': ({ text }) => ({
    method: 'POST',
    path: '/device-instance/_query',
    headers: form,
    body: asParameters(text),
  }),
  'reads the log': ({ text }) => withBody('POST', `${device}/log/_query`, text),
  'writes a log record': ({ text }) => withBody('POST', `${device}/log`, text),
  'creates a device': ({ text }) => withBody('POST', '/device-instance', text),
  'creates many devices': ({ text }) => withBody('POST', '/api/v1/device', text),
  'changes a device': ({ text }) => withBody('PATCH', device, text),
  'tags a device': ({ text }) => withBody('PATCH', `${device}/tag`, text),
  'deploys a device': ({ text }) => withBody('POST', `${device}/_deploy`, text),
  'deletes a device': ({ text }) => withQuery('DELETE', device, text),
  'reads a device': ({ text }) => withQuery('GET', `${device}/_detail`, text),
  'gets a token': ({ text }) => withBody('POST', '/api/v1/token', text),
};

function withBody(method: string, path: string, body: string): Attack {
  return { method, path, headers: json, body };
}

function withQuery(method: string, path: string, text: string): Attack {
  return { method, path: `${path}?${asParameters(text)}` };
}

function asParameters(text: string): string {
  const [key = '', ...rest] = text.split('=');
  return `${encodeURIComponent(key)}=${encodeURIComponent(rest.join('='))}`;
}

const profiles = ['compatible', 'strict'] as const;

describe.each(
  integrationEngines.flatMap((engine) => profiles.map((profile) => ({ engine, profile }))),
)('captured replies on $engine in the $profile profile', ({ engine, profile }) => {
  let system: Constellation;
  let timestamp = 0;

  beforeAll(async () => {
    system = await startConstellation({
      engine,
      bootstrap,
      environment: { SECURITY_PROFILE: profile, LOG_LEVEL: 'error' },
    });
    // The name contains an equals sign, so that replies can be split like a query.
    const name = 'open=0';
    const body = JSON.stringify({ id: 'valve', name, productId: 'p', productName: 'P' });
    const { status } = await signed('POST', '/device-instance', body);
    expect(status).toBe(200);
  });
  afterAll(() => system?.stop());

  async function signed(method: string, path: string, body?: string) {
    timestamp = Math.max(Date.now(), timestamp + 1);
    const text = body ?? path.split('?')[1] ?? '';
    const signature = signatureHeaders({ clientId: 'attacked', secureKey }, text, timestamp);
    const headers = { ...signature, ...(body === undefined ? {} : json) };
    const reply = await fetch(system.gatewayUrl + path, { method, headers, body: body ?? null });
    const captured: Captured = {
      text: await reply.text(),
      timestamp: reply.headers.get('x-timestamp') ?? '',
      signature: reply.headers.get('x-sign') ?? '',
    };
    return { status: reply.status, captured };
  }

  async function replay(captured: Captured, clientId: string, attack: Attack) {
    const { method, path, headers = {}, body } = attack;
    const { timestamp, signature } = captured;
    const sent = { ...headers, 'X-Client-Id': clientId, 'X-Timestamp': timestamp };
    const reply = await fetch(system.gatewayUrl + path, {
      method,
      headers: { ...sent, 'X-Sign': signature },
      body: body ?? null,
    });
    await reply.arrayBuffer();
    return { status: reply.status, signature: reply.headers.get('x-sign') };
  }

  const captures = {
    'a list': () => signed('GET', '/api/device'),
    'a detail': () => signed('GET', `${device}/_detail`),
    'a query': () => signed('POST', '/device-instance/_query', '{}'),
    'a change': () => signed('PATCH', device, '{"name":"open=0"}'),
    'a failure': () => signed('GET', '/no/such=path'),
  } as const;

  test.each(Object.entries(captures))('of %s are rejected', async (_name, capture) => {
    for (const [name, attack] of Object.entries(attacks)) {
      for (const clientId of ['attacked', 'twin']) {
        const { captured } = await capture();
        expect(captured.signature).toMatch(/^[0-9a-f]{64}$/);
        const { status, signature } = await replay(captured, clientId, attack(captured));
        const outcome = [name, clientId, status === 400 || status === 401, signature];
        expect(outcome).toEqual([name, clientId, true, null]);
      }
    }
  });

  test('have changed nothing, and the client continues to work', async () => {
    const { status, captured } = await signed('POST', '/device-instance/_query', '{}');
    expect(status).toBe(200);
    const unchanged = { id: 'valve', name: 'open=0', state: { value: 'notActive' } };
    expect(JSON.parse(captured.text).result).toMatchObject({ total: 1, data: [unchanged] });
  });
});
