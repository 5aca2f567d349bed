// requires: redis-server

import { integrationEngines, startStoreEngine } from '@gatehouse/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import type { Received, Sent } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

/** The result of one exchange for an attacker: a text and the headers that sign it. */
interface Captured {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Replay {
  readonly path: string;
  readonly sent: Sent;
}

const json = { 'Content-Type': 'application/json' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const envelope =
  '{"status":200,"code":"success","message":"success","result":[{"name":"a=b"}],"timestamp":1574993804802}';

let clock = Date.now();
const compatible = await bootSuiteGateway();

function signatureOf(reply: Received): Record<string, string> {
  expect(reply.headers).toHaveProperty('x-timestamp');
  const sign = reply.headers['x-sign-v2'] === undefined ? 'x-sign' : 'x-sign-v2';
  return {
    'X-Timestamp': String(reply.headers['x-timestamp']),
    [sign]: String(reply.headers[sign]),
  };
}

type Capture = (booted: BootedGateway) => Promise<Captured>;

/** Sends a signed request whose reply has this body, and captures the reply. */
function replyWith(body: string, status = 200): Capture {
  return async (booted) => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(status, json);
      response.end(body);
    });
    const captured = await replyTo(status, '/api/device')(booted);
    booted.upstream.answerWith(undefined);
    return captured;
  };
}

function replyTo(status: number, path: string, body?: string): Capture {
  return async (booted) => {
    const reply = await booted.send(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...json, ...booted.signed(body === undefined ? {} : { body }) },
      ...(body !== undefined && { body }),
    });
    expect(reply.status).toBe(status);
    if (typeof reply.json?.result === 'string') {
      booted.keepSecret(reply.json.result);
    }
    return { headers: signatureOf(reply), text: reply.body.toString() };
  };
}

function request(path: string, text: string, sent: Sent = {}): Capture {
  return async (booted) => {
    const { 'X-Client-Id': _client, ...headers } = booted.signed({ body: text });
    const reply = await booted.send(path, {
      ...sent,
      headers: { ...(sent.headers as object), 'X-Client-Id': 'demo', ...headers },
    });
    expect(reply.status).toBe(200);
    return { headers, text };
  };
}

const post = (path: string, headers: Record<string, string>, body: string) =>
  request(path, body, { method: 'POST', headers, body });

const captures: Readonly<Record<string, Capture>> = {
  'the reply to a GET': replyWith(envelope),
  'the reply to a GET, an error of the upstream': replyWith('{"error":"a=b"}', 500),
  'the reply to a GET, no envelope': replyWith('{"terms":[],"name":"a=b"}'),
  'the reply to a GET, an empty object': replyWith('{}'),
  'the reply to a GET, parameters': replyWith('a=1'),
  'the reply to a GET, a body that requests a token': replyWith('{"expires":60}'),
  'the reply to a POST': replyTo(200, '/device-instance', '{"id":"d1"}'),
  'the reply 404 of the gateway': replyTo(404, '/no/such/path'),
  'the reply 403 of the gateway': replyTo(403, '/device-instance/d1/log', '[]'),
  'the reply with an X-Access-Token': replyTo(200, '/api/v1/token', '{"expires":60}'),
  'a JSON request': post('/device-instance', json, '{"id":"d1","name":"a=b"}'),
  'a form request': post('/device-instance', form, 'a=1'),
  'a request without a body': request('/device-instance/d1/_deploy', '', { method: 'POST' }),
  'a query': request('/api/device?a=1', 'a=1'),
  'an empty query': request('/api/device', ''),
};

/** Splits a text at its first `=` into a parameter of a query or form. */
function asParameters(text: string): string {
  const [key = '', ...rest] = text.split('=');
  return rest.length === 0 && key === ''
    ? ''
    : `${encodeURIComponent(key)}=${encodeURIComponent(rest.join('='))}`;
}

const withBody =
  (method: string, path: string, headers: Readonly<Record<string, string>> = json) =>
  ({ text }: Captured): Replay => ({
    path,
    sent: { method, headers, body: headers === form ? asParameters(text) : text },
  });
const withQuery =
  (method: string, path: string) =>
  ({ text }: Captured): Replay => ({ path: `${path}?${asParameters(text)}`, sent: { method } });

const replays: Readonly<Record<string, (captured: Captured) => Replay>> = {
  'a query of all devices': withBody('POST', '/device-instance/_query'),
  'a count of all devices': withBody('POST', '/device/instance/_count'),
  'a change': withBody('PATCH', '/api/v1/device/d2'),
  'a creation': withBody('POST', '/device/instance'),
  'a creation of many': withBody('POST', '/api/v1/device'),
  'a deployment': withBody('POST', '/api/v1/device/d2/_deploy'),
  'a deployment of many': withBody('POST', '/api/v1/device/_deploy'),
  'a deletion of many': withBody('POST', '/api/v1/device/_delete'),
  'a deployment of unknown type': withBody('POST', '/api/v1/device/d2/_unDeploy', {}),
  'a form': withBody('POST', '/device-instance/_query', form),
  'a PUT': withBody('PUT', '/device-instance'),
  'a request for a token': withBody('POST', '/api/v1/token'),
  'a deletion': withQuery('DELETE', '/api/v1/device/d2'),
  'a deletion of a tag': withQuery('DELETE', '/api/v1/device/d2/tag/t'),
  'a GET of another path': withQuery('GET', '/api/v1/device/d2/_detail'),
  'a HEAD': withQuery('HEAD', '/api/device'),
  'an OPTIONS': withQuery('OPTIONS', '/api/device'),
};

interface Accepted {
  readonly replay: string;
  readonly client: string;
  readonly status: number;
}

/** Returns the replays of one capture that a gateway accepts. */
async function accepted(
  capture: Capture,
  booted: BootedGateway,
  verifier: BootedGateway = booted,
  tried: readonly string[] = Object.keys(replays),
): Promise<readonly Accepted[]> {
  const found: Accepted[] = [];
  clock += 1;
  const captured = await capture(booted);
  for (const replay of tried) {
    for (const client of ['demo', 'twin']) {
      verifier.upstream.requests.length = 0;
      const { path, sent } = replays[replay]?.(captured) ?? { path: '', sent: {} };
      const { status, headers } = await verifier.send(path, {
        ...sent,
        headers: { ...(sent.headers as object), ...captured.headers, 'X-Client-Id': client },
      });
      const isForwarded = verifier.upstream.requests.length > 0;
      if (status < 400 || isForwarded || 'x-sign' in headers || 'x-sign-v2' in headers) {
        found.push({ replay, client, status });
      }
    }
  }
  return found;
}

describe.each(
  integrationEngines.flatMap((engine) => [
    { engine, profile: 'compatible', strict: false },
    { engine, profile: 'strict', strict: true },
  ]),
)('a captured signature on $engine in the $profile profile', ({ engine, strict }) => {
  let booted: BootedGateway;
  /** Shares the store, and therefore the used signatures. */
  let other: BootedGateway;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    const store = await startStoreEngine(engine);
    stop = store.stop;
    const masterKey = Buffer.alloc(32, 1);
    const shared = { now: () => clock, storeUrl: store.storeUrl, strict, masterKey };
    booted = await bootGateway(shared);
    other = await bootGateway(shared);
    // All signatures use the older of two active keys.
    await booted.saveClient({ clientId: 'twin' }, booted.secureKey);
    await booted.saveClient({ clientId: 'twin' }, other.secureKey);
  });
  afterEach(() => {
    clock += 1000;
  });
  afterAll(async () => {
    await other.close();
    await closeUnharmed(booted).finally(stop);
  });

  test.each(Object.entries(captures))(
    '%s: is not valid for another request',
    async (name, capture) => {
      // Parallel reads may share a signature: docs/signing.md.
      const isSharedRead = !strict && ['a query', 'an empty query'].includes(name);
      const shared = { replay: 'a GET of another path', client: 'demo', status: 200 };
      expect(await accepted(capture, booted)).toEqual(isSharedRead ? [shared] : []);
    },
  );

  test('the reply to a GET: is not a request at another gateway', async () => {
    expect(await accepted(replyWith('{"terms":[],"name":"a=b"}'), booted, other)).toEqual([]);
  });

  test('a reply of version 2: is not a request of either version', async () => {
    const capture = async (): Promise<Captured> => {
      const reply = await booted.send('/api/device', { headers: booted.signedV2() });
      const headers = { ...signatureOf(reply), 'X-Nonce': `reflected-${clock}` };
      return { headers, text: reply.body.toString() };
    };
    const asVersion1 = async (): Promise<Captured> => {
      const { headers, text } = await capture();
      const { 'X-Nonce': _nonce, 'x-sign-v2': sign = '', ...rest } = headers;
      return { headers: { ...rest, 'X-Sign': sign }, text };
    };
    expect(await accepted(capture, booted)).toEqual([]);
    expect(await accepted(asVersion1, booted)).toEqual([]);
  });
});

describe('a request of version 1 whose body resembles a reply envelope', () => {
  const event = { status: 1, code: 'E42', message: 'Too hot', timestamp: 1574993804802 };
  const reply = { ...event, status: 200 };

  async function sendBody(value: object): Promise<Received> {
    const body = JSON.stringify(value);
    const headers = { ...json, ...compatible.signed({ body }) };
    return compatible.send('/device-instance', { method: 'POST', headers, body });
  }

  test.each([
    ['an alarm event', { deviceId: 'd1', ...event }],
    ['one more member', { ...reply, deviceId: 'd1' }],
    ['a status below 100', event],
    ['a status over 599', { ...reply, status: 600 }],
    ['a code that is a number', { ...reply, code: 42 }],
  ])('is accepted with %s', async (_name, value) => {
    expect((await sendBody(value)).status).toBe(200);
  });

  test.each([
    ['an error', { ...reply, status: 404 }],
    ['a result', { ...reply, result: [] }],
    ['an expiry', { ...reply, result: 'x', expires: 60 }],
  ])('is rejected if it is an envelope with %s', async (_name, value) => {
    const { status, json } = await sendBody(value);
    expect([status, json.code]).toEqual([400, 'ambiguous_request']);
    expect(json.message).toContain('must not be a reply envelope');
  });
});

test('Another installation with the same key accepts a captured reply unless it is an envelope.', async () => {
  const booted = await openGateway({ now: () => clock });
  const installation = await openGateway({ now: () => clock });
  await installation.saveClient({}, booted.secureKey);
  for (const replay of ['a query of all devices', 'a change', 'a form', 'a deletion']) {
    const found = await accepted(replyWith('{"name":"a=b"}'), booted, installation, [replay]);
    expect(found).toEqual([{ replay, client: 'demo', status: 200 }]);
  }
  expect(await accepted(replyWith(envelope), booted, installation)).toEqual([]);
});
