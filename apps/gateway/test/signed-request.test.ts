// requires: redis-server
import { describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import type { Sent } from './http-client.ts';
import { bootClockedGateway, expectRefused, onEngines } from './suite-gateway.ts';
import type { Signing, SigningV2 } from './test-credentials.ts';

const device = '/api/v1/device/d1';
const putRoutes = deviceRoutes
  .filter(({ operation, path }) => operation === 'device.update' && path.startsWith('/api/v1'))
  .map((route) => ({ ...route, operation: 'device.replace', method: 'PUT' as const }));

describe.each(
  await onEngines((options) =>
    bootClockedGateway({ ...options, routes: [...deviceRoutes, ...putRoutes] }),
  ),
)('on $engine', ({ system: gateway }) => {
  const refused = (reply: Parameters<typeof expectRefused>[1], status: number, code: string) =>
    expectRefused(gateway, reply, status, code);
  const json = { 'Content-Type': 'application/json' };
  const creation = { method: 'POST', path: '/device-instance', contentType: json['Content-Type'] };
  const versions = {
    'version 1': {
      sign: (change: Signing & SigningV2 = {}) => gateway.signed(change),
      signBody: (body: Buffer) => ({ ...json, ...gateway.signed({ body }) }),
    },
    'version 2': {
      sign: (change: Signing & SigningV2 = {}) => gateway.signedV2(change),
      signBody: (body: Buffer) => gateway.signedV2({ ...creation, body }),
    },
  };

  describe.each(Object.entries(versions))('the headers of %s', (_version, { sign, signBody }) => {
    const get = (headers: NonNullable<Sent['headers']>) => gateway.send('/api/device', { headers });

    test('are each required exactly once', async () => {
      for (const [name, value] of Object.entries(sign())) {
        const others = Object.entries(sign()).filter(([other]) => other !== name);
        refused(await get(others.flat()), 401, 'missing_signature');
        refused(await get([...others.flat(), name, value, name, value]), 400, 'ambiguous_request');
      }
    });

    test('are accepted for 300 s before and after the time of the gateway', async () => {
      const at = (offset: number) => get(sign({ timestamp: String(gateway.clock.now + offset) }));
      for (const offset of [-300_100, 300_100]) {
        refused(await at(offset), 401, 'timestamp_out_of_range');
      }
      for (const offset of [-299_900, 299_900]) {
        expect((await at(offset)).status).toBe(200);
      }
    });

    test('get the same reply for an unknown client, a disabled one and a wrong key', async () => {
      await gateway.saveClient({ clientId: 'disabled', enabled: false }, gateway.secureKey);
      const replies = new Set<string>();
      for (const clientId of ['nobody', 'disabled', '__proto__', 'demo']) {
        const secureKey = clientId === 'demo' ? 'another key' : gateway.secureKey;
        const reply = await get(sign({ clientId, secureKey, nonce: 'the-same-nonce-0' }));
        refused(reply, 401, 'invalid_signature');
        // The client id is one of the lines that version 2 signs.
        replies.add(reply.body.toString().replace(`"${clientId}"`, '"ID"'));
      }
      expect(replies.size).toBe(1);
    });

    test.each(['constructor', '*', 'client:demo', 'a b', 'é', 'x'.repeat(10_000)])(
      'are rejected for the client id %p',
      async (clientId) => {
        const sent = { ...sign(), 'X-Client-Id': Buffer.from(clientId).toString('latin1') };
        refused(await get(sent), 401, 'invalid_signature');
      },
    );

    test('may use each active key of the client and no other key', async () => {
      const clientId = 'rotating';
      const keys = ['the first secure key', 'the second secure key'];
      for (const secureKey of keys) {
        await gateway.saveClient({ clientId }, secureKey);
      }
      refused(await get(sign({ clientId })), 401, 'invalid_signature');
      for (const secureKey of keys) {
        expect((await get(sign({ clientId, secureKey }))).status).toBe(200);
      }
    });

    test('are not used up if they are rejected because of the address', async () => {
      const clientId = 'outside';
      await gateway.saveClient({ clientId, ipAllowList: ['192.0.2.1'] }, gateway.secureKey);
      gateway.clock.now += 100;
      const headers = sign({ clientId });
      refused(await get(headers), 403, 'access_denied');
      await gateway.saveClient({ clientId, ipAllowList: ['127.0.0.0/8'] });
      gateway.clock.now += 100;
      expect((await get(headers)).status).toBe(200);
    });

    test('sign a body that arrives in any pieces and is forwarded unchanged', async () => {
      const body = Buffer.from('{\n  "id": "1",\r\n  "name": "中"\n}\n');
      const pieces = [...body].map((byte) => Buffer.from([byte]));
      const sent = { method: 'POST', headers: signBody(body), body: pieces };
      expect((await gateway.send(creation.path, sent)).status).toBe(200);
      expect(gateway.upstream.last().body.equals(body)).toBe(true);
      expect(gateway.upstream.last().headers).toMatchObject({ 'content-type': 'application/json' });
    });

    test('sign a body of up to 1 MiB', async () => {
      const limit = 1024 * 1024;
      for (const framing of ['chunked', 'Content-Length']) {
        const post = (body: Buffer) => {
          const length = { 'Content-Length': String(body.length) };
          const headers = { ...signBody(body), ...(framing === 'chunked' ? {} : length) };
          return gateway.send(creation.path, { method: 'POST', headers, body });
        };
        const reply = await post(Buffer.alloc(limit + 1, framing));
        refused(reply, 413, 'payload_too_large');
        expect(reply.headers.connection).toBe('close');
        expect((await post(Buffer.alloc(limit, framing))).status).toBe(200);
        gateway.upstream.requests.length = 0;
      }
    });
  });

  describe('version 1', () => {
    function call(method: string, signing: Signing, headers = {}) {
      const query = signing.query === undefined ? '' : `?${signing.query}`;
      return gateway.send(device + query, {
        method,
        headers: { ...gateway.signed(signing), ...headers },
        ...(signing.body !== undefined && { body: signing.body }),
      });
    }

    test.each(['DELETE', 'HEAD', 'GET'])(
      'signs the query of %s, which is forwarded as signed',
      async (method) => {
        const reply = await call(method, { query: 'b=2&a=1&a=0' });
        expect(reply.status).toBe(200);
        const { method: seen, url } = gateway.upstream.last();
        expect([seen, url]).toEqual([method, `${device}?a=1%2C0&b=2`]);
        expect(reply.headers['x-sign'] === undefined).toBe(method === 'HEAD');
      },
    );

    test.each(['PATCH', 'PUT'])('signs the body of %s', async (method) => {
      const body = '{"name":"é"}';
      expect((await call(method, { body }, json)).status).toBe(200);
      const headers = { ...json, ...gateway.signed({ body }) };
      const changed = await gateway.send(device, { method, headers, body: `${body} ` });
      expect(changed.json.code).toBe('invalid_signature');
    });

    test('lets a signed OPTIONS ask for the methods of a path', async () => {
      const ask = (path: string, headers: Record<string, string>) =>
        gateway.send(path, { method: 'OPTIONS', headers });
      const reply = await ask('/api/device', gateway.signed());
      expect([reply.status, reply.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
      expect(reply.headers).not.toHaveProperty('x-sign');
      gateway.clock.now += 1;
      expect((await ask('/none', gateway.signed())).status).toBe(404);
      expect((await ask('/api/device', {})).status).toBe(401);
      expect(gateway.upstream.requests).toEqual([]);
    });

    test('signs the sorted parameters of a form, which is forwarded as parsed', async () => {
      const reply = await gateway.send(creation.path, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8',
          ...gateway.signed({ body: 'a=1,x y&b=2' }),
        },
        body: 'b=2&a=1&a=x+y',
      });
      expect(reply.status).toBe(200);
      expect(gateway.upstream.last().body.toString()).toBe('a=1%2Cx%20y&b=2');
    });

    test('uses the algorithm of the client, which no header or parameter changes', async () => {
      const algorithm = 'MD5';
      const query = 'algorithm=MD5&signType=MD5';
      const headers = { 'X-Sign-Algorithm': 'MD5', 'X-Digest': 'MD5', Digest: 'MD5' };
      refused(await call('GET', { algorithm, query }, headers), 401, 'invalid_signature');
    });
  });

  describe('version 2', () => {
    function sendSigned(headers: Record<string, string>, sent: SigningV2 & Sent = {}) {
      const { method = 'GET', path = '/api/device', query = '', body } = sent;
      return gateway.send(query === '' ? path : `${path}?${query}`, {
        method,
        headers: { ...headers, ...(sent.headers as Record<string, string> | undefined) },
        ...(body !== undefined && { body }),
      });
    }
    const modern = { clientId: 'modern', signatureAlgorithm: 'HMAC-SHA-256' } as const;

    const update = {
      method: 'PATCH',
      path: device,
      query: 'trace=1',
      contentType: 'application/json',
      body: '{"name":"one"}',
    };
    test.each<[string, Partial<SigningV2 & Sent>]>([
      ['another path', { path: '/api/v1/device/d2' }],
      ['the same path in another spelling', { path: '/api/v1/device/%641' }],
      ['another method', { method: 'DELETE', body: '' }],
      ['another method with the same body', { method: 'POST', path: `${device}/log` }],
      ['another query', { query: 'trace=2' }],
      ['the query in another spelling', { query: 'trace=%31' }],
      ['no query', { query: '' }],
      ['another body', { body: '{"name":"two"}' }],
      ['no body', { body: '' }],
      ['another content type', { headers: { 'Content-Type': 'text/plain' } }],
      ['another client with the same key', { headers: { 'X-Client-Id': 'modern' } }],
      ['another nonce', { headers: { 'X-Nonce': 'abcdefghijklmnop' } }],
      ['another time', { headers: { 'X-Timestamp': String(gateway.clock.now) } }],
    ])('rejects a request that an attacker captured and changed: %s', async (_name, change) => {
      await gateway.saveClient(modern, gateway.secureKey);
      const headers = gateway.signedV2(update);
      refused(await sendSigned(headers, { ...update, ...change }), 401, 'invalid_signature');

      // The attempt did not use up the signature: the real request is accepted once.
      expect((await sendSigned(headers, update)).status).toBe(200);
      expect(gateway.upstream.requests).toHaveLength(1);
    });

    test.each(['GET', 'HEAD', 'DELETE', 'PATCH'])(
      'rejects a repeated %s, with hex digits in any case',
      async (method) => {
        const signing = { method, path: device };
        const headers = gateway.signedV2(signing);
        expect((await sendSigned(headers, signing)).status).toBe(200);
        gateway.upstream.requests.length = 0;
        const upper = { ...headers, 'X-Sign-V2': headers['X-Sign-V2']?.toUpperCase() ?? '' };
        for (const again of [headers, upper]) {
          expect((await sendSigned(again, signing)).status).toBe(401);
          expect(gateway.logLines().at(-1)).toMatchObject({ reason: 'replayed_request' });
          expect(gateway.upstream.requests).toEqual([]);
        }
      },
    );

    test('accepts one of fifty concurrent uses, and a nonce once per client', async () => {
      await gateway.saveClient(modern, gateway.secureKey);
      const nonce = 'only-once-0123456789';
      const headers = gateway.signedV2({ nonce });
      const replies = await Promise.all(Array.from({ length: 50 }, () => sendSigned(headers)));
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(replies.filter(({ json }) => json.code === 'replayed_request')).toHaveLength(49);
      expect(gateway.upstream.requests).toHaveLength(1);

      gateway.upstream.requests.length = 0;
      const query = 'a=1';
      const other = gateway.signedV2({ nonce, query });
      refused(await sendSigned(other, { query }), 401, 'replayed_request');
      const ofModern = gateway.signedV2({ nonce, clientId: 'modern' });
      expect((await sendSigned(ofModern)).status).toBe(200);
    });

    test('is the only version that a client with HMAC-SHA-256 may use', async () => {
      await gateway.saveClient(modern, gateway.secureKey);
      const call = (signing: Signing) => sendSigned(gateway.signed(signing));
      const digest = await call({ clientId: 'modern' });
      refused(digest, 401, 'invalid_signature');
      // Only a caller that holds the key learns that the client exists.
      expect(digest.json.result.cause).toBe('version_1_not_allowed');
      const unknown = await call({ clientId: 'nobody' });
      expect(unknown.json.result).not.toHaveProperty('cause');
      const wrong = await call({ clientId: 'modern', secureKey: 'another key' });
      expect(wrong.json).toEqual(unknown.json);
      expect((await sendSigned(gateway.signedV2({ clientId: 'modern' }))).status).toBe(200);
    });

    test('is never confused with version 1', async () => {
      const { 'X-Sign-V2': hmac = '', ...others } = gateway.signedV2();
      const { 'X-Sign': digest = '' } = gateway.signed();
      refused(await sendSigned({ ...others, 'X-Sign': hmac }), 401, 'invalid_signature');
      refused(await sendSigned({ ...others, 'X-Sign-V2': digest }), 401, 'invalid_signature');
    });

    test('has no body in a method without one', async () => {
      const headers = { ...gateway.signedV2({ body: '{}' }), 'Content-Length': '2' };
      const reply = await sendSigned(headers, { body: '{}' });
      expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
      expect(gateway.upstream.requests).toEqual([]);
    });

    test('is not recognized by X-Nonce alone', async () => {
      for (const credential of [await gateway.bearer(), gateway.signed()]) {
        expect((await sendSigned({ ...credential, 'X-Nonce': '1' })).status).toBe(200);
      }
    });
  });
});
