import { describe, expect, test } from '@jest/globals';
import { bootGateway } from './booted-gateway.ts';
import { send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';
import type { SigningV2 } from './test-credentials.ts';

const calls = useSignedCalls();

const post = {
  method: 'POST',
  path: '/device-instance',
  contentType: 'application/json',
  body: '{"id":"1"}',
} as const;

function call(signing: SigningV2 = {}, headers: Record<string, string> = {}) {
  const { method = 'GET', path = '/api/device', query = '', body } = signing;
  return send(calls.booted.port, query === '' ? path : `${path}?${query}`, {
    method,
    headers: { ...calls.booted.signedV2(signing), ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

describe('the headers of version 2', () => {
  test('cannot be combined with those of version 1', async () => {
    calls.expectRefused(await call({}, calls.booted.signed()), 400, 'multiple_credentials');
    calls.expectRefused(await call({}, { 'X-Sign': '' }), 400, 'multiple_credentials');
  });

  test.each(['X-Access-Token', 'Authorization'])('cannot be combined with %s', async (name) => {
    calls.expectRefused(await call({}, { [name]: 'Bearer x' }), 400, 'multiple_credentials');
  });

  test('cannot be combined with a token in the query', async () => {
    const query = 'access_token=x';
    calls.expectRefused(await call({ query }), 400, 'multiple_credentials');
  });

  test.each(['X-Sign-V2', 'X-Nonce', 'X-Timestamp', 'X-Client-Id'])(
    'are required exactly once: without %s the signature is missing, with two it is ambiguous',
    async (name) => {
      const { [name]: value = '', ...others } = calls.booted.signedV2();
      const without = await send(calls.booted.port, '/api/device', { headers: others });
      calls.expectRefused(without, 401, 'missing_signature');
      const headers = [...Object.entries(others).flat(), name, value, name, value];
      const twice = await send(calls.booted.port, '/api/device', { headers });
      calls.expectRefused(twice, 400, 'ambiguous_request');
    },
  );

  test.each(['short-nonce-123', 'a'.repeat(65), 'abcdefghijklmno=', 'abcdefgh ijklmnop'])(
    'are rejected with the nonce %p',
    async (nonce) => {
      const reply = await call({ nonce });
      calls.expectRefused(reply, 400, 'illegal_argument');
      expect(reply.json.result).toEqual([{ property: 'X-Nonce', message: expect.any(String) }]);
    },
  );

  test('leave an X-Nonce header without a signature alone', async () => {
    const token = await calls.booted.issueToken();
    for (const headers of [
      { Authorization: `Bearer ${token}`, 'X-Nonce': '1' },
      { ...calls.booted.signed(), 'X-Nonce': '1' },
    ]) {
      expect((await send(calls.booted.port, '/api/device', { headers })).status).toBe(200);
    }
  });

  test('are rejected at 300.1 s and accepted at 299.9 s in both directions', async () => {
    for (const offset of [-299_900, 299_900]) {
      expect((await call({ timestamp: String(calls.now + offset) })).status).toBe(200);
    }
    calls.booted.upstream.requests.length = 0;
    for (const offset of [-300_100, 300_100]) {
      const reply = await call({ timestamp: String(calls.now + offset) });
      calls.expectRefused(reply, 401, 'timestamp_out_of_range');
    }
  });

  test.each(['a'.repeat(63), 'a'.repeat(65), 'null', 'é'])(
    'are rejected with X-Sign-V2 %p',
    async (sign) => {
      const presented = Buffer.from(sign).toString('latin1');
      calls.expectRefused(await call({}, { 'X-Sign-V2': presented }), 401, 'invalid_signature');
    },
  );

  test('get the same reply for an unknown client, a disabled one and a wrong key', async () => {
    await calls.booted.saveClient({ clientId: 'disabled', enabled: false }, calls.booted.secureKey);
    const nonce = 'the-same-nonce-0';
    const replies: unknown[] = [];
    for (const clientId of ['nobody', 'disabled', '__proto__', 'demo']) {
      const secureKey = clientId === 'demo' ? 'another key' : calls.booted.secureKey;
      const reply = await call({ clientId, nonce, secureKey });
      calls.expectRefused(reply, 401, 'invalid_signature');
      // The client id is one of the lines that the caller signs.
      replies.push(reply.body.toString().replace(`"${clientId}"`, '"ID"'));
    }
    expect(new Set(replies).size).toBe(1);
  });

  test('may use each active key of the client and no other key', async () => {
    const clientId = 'rotating';
    for (const secureKey of ['the first secure key', 'the second secure key']) {
      await calls.booted.saveClient({ clientId }, secureKey);
    }
    for (const secureKey of ['the first secure key', 'the second secure key']) {
      expect((await call({ clientId, secureKey })).status).toBe(200);
    }
    calls.booted.upstream.requests.length = 0;
    calls.expectRefused(await call({ clientId }), 401, 'invalid_signature');
  });

  test('are rejected from another address without using up the nonce', async () => {
    const clientId = 'outside';
    await calls.booted.saveClient({ clientId, ipAllowList: ['192.0.2.1'] }, calls.booted.secureKey);
    const headers = calls.booted.signedV2({ clientId });
    const reply = await send(calls.booted.port, '/api/device', { headers });
    calls.expectRefused(reply, 403, 'access_denied');
    await calls.booted.saveClient({ clientId, ipAllowList: [] });
    calls.now += 100;
    expect((await send(calls.booted.port, '/api/device', { headers })).status).toBe(200);
  });

  test('appear neither at the service nor in the log', async () => {
    const headers = calls.booted.signedV2();
    await send(calls.booted.port, '/api/device', { headers });
    const seen = JSON.stringify(calls.booted.upstream.last().rawHeaders);
    for (const name of ['X-Sign-V2', 'X-Nonce']) {
      expect(seen.toLowerCase()).not.toContain(name.toLowerCase());
      expect(seen).not.toContain(headers[name]);
      expect(calls.booted.log()).not.toContain(headers[name]);
    }
  });
});

describe('the text that version 2 signs', () => {
  test('contains the query, which is forwarded unchanged', async () => {
    const query = 'b=%7E1&a=1&a=x+y&&c';
    expect((await call({ query })).status).toBe(200);
    expect(calls.booted.upstream.last().url).toBe(`/api/device?${query}`);
  });

  test.each(['a=%zz', 'a=%00', 'a=%c0%ae'])(
    'must not contain a query such as %s',
    async (query) => {
      calls.expectRefused(await call({ query }), 400, 'illegal_argument');
    },
  );

  test('contains a body of any type, also with a query', async () => {
    const body = Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x00, 0x0a]);
    const signing = { ...post, body, query: 'a=1', contentType: 'application/octet-stream' };
    expect((await call(signing)).status).toBe(200);
    expect(calls.booted.upstream.last().body.equals(body)).toBe(true);
    expect(calls.booted.upstream.last().headers['content-type']).toBe('application/octet-stream');
  });

  test('contains a body that arrives in any pieces, up to its limit', async () => {
    const body = Buffer.alloc(1024 * 1024, 'a');
    const pieces = [body.subarray(0, 1), body.subarray(1, 70_000), body.subarray(70_000)];
    const path = '/device-instance';
    const headers = { ...calls.booted.signedV2({ ...post, body }), 'Transfer-Encoding': 'chunked' };
    const reply = await send(calls.booted.port, path, { method: 'POST', headers, body: pieces });
    expect(reply.status).toBe(200);
    expect(calls.booted.upstream.last().body.equals(body)).toBe(true);
    calls.booted.upstream.requests.length = 0;

    const large = Buffer.alloc(1024 * 1024 + 1, 'a');
    const tooLarge = await send(calls.booted.port, path, {
      method: 'POST',
      headers: {
        ...calls.booted.signedV2({ ...post, body: large }),
        'Transfer-Encoding': 'chunked',
      },
      body: large,
    });
    calls.expectRefused(tooLarge, 413, 'payload_too_large');
  });

  test('must not contain a body if the method has none', async () => {
    const reply = await call({ body: '{}' }, { 'Content-Length': '2' });
    expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
    expect(calls.booted.upstream.requests).toEqual([]);
  });
});

test('version 2 is available to an MD5 client in the strict profile, which rejects MD5', async () => {
  const strict = await bootGateway({ strict: true });
  await strict.saveClient({ clientId: 'old', signatureAlgorithm: 'MD5' }, strict.secureKey);
  const headers = strict.signedV2({ clientId: 'old' });

  expect((await send(strict.port, '/api/device', { headers })).status).toBe(200);
  expect((await send(strict.port, '/api/device', { headers })).json.code).toBe('replayed_request');
  await strict.close();
});
