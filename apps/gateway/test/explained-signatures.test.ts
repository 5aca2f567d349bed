import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { type Received, send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';
import { digest, hmacLines } from './test-credentials.ts';

const calls = useSignedCalls();
const query = 'pageSize=20&pageIndex=0';
const right = 'pageIndex=0&pageSize=20';

/** Sends a GET whose X-Sign is a SHA-256 over the parts. */
function signedOver(...parts: readonly string[]): Promise<Received> {
  return get({ 'X-Sign': digest('SHA-256', ...parts) });
}

function get(headers: Record<string, string>, path = `/api/device?${query}`): Promise<Received> {
  const own = { 'X-Client-Id': 'demo', 'X-Timestamp': String(calls.now) };
  return send(calls.booted.port, path, { headers: { ...own, ...headers } });
}

function post(headers: Record<string, string>, body: string | Buffer, path = '/device-instance') {
  return send(calls.booted.port, path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  });
}

describe('the reply to a wrong signature', () => {
  test('has the signed text and the timestamp of a query', async () => {
    const reply = await signedOver('wrong');
    calls.expectRefused(reply, 401, 'invalid_signature');
    expect(reply.json.result).toEqual({
      signedAs: 'query',
      expectedText: right,
      timestamp: String(calls.now),
    });
  });

  test('has the text of a form, and length and SHA-256 of another body', async () => {
    const headers = calls.booted.signed({ body: 'wrong' });
    const form = { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await post(form, 'b=2&a=%31')).json.result).toMatchObject({
      signedAs: 'form',
      expectedText: 'a=1&b=2',
    });
    expect((await post(headers, '{"a":1}')).json.result).toMatchObject({
      signedAs: 'body',
      expectedBody: { bytes: 7, sha256: digest('SHA-256', '{"a":1}') },
    });
  });

  test('has the nine lines of version 2', async () => {
    const headers = calls.booted.signedV2({ query: 'x=1' });
    const { result } = (await get(headers)).json;
    expect(result).toEqual({
      signedAs: 'lines',
      expectedLines: [
        ...['GATEHOUSE-V2', 'GET', '/api/device', query, '', digest('SHA-256', '')],
        ...['demo', headers['X-Timestamp'], headers['X-Nonce']],
      ],
      timestamp: headers['X-Timestamp'],
    });
  });

  test('cuts long texts to 1 KiB and marks them', async () => {
    const long = `/api/device?a=${'%E4%B8%AD'.repeat(500)}`;
    const text = (await get({ 'X-Sign': 'f'.repeat(64) }, long)).json.result;
    expect(text).toMatchObject({ signedAs: 'query', isCut: true });
    expect(text.expectedText).toMatch(/^a=中+$/);
    expect(Buffer.byteLength(text.expectedText)).toBeGreaterThan(1000);
    const lines = (await get(calls.booted.signedV2({}), long)).json.result;
    expect(lines).toMatchObject({ signedAs: 'lines', isCut: true });
    expect(lines.expectedLines).toHaveLength(9);
    for (const result of [text, lines]) {
      expect(
        Buffer.byteLength(JSON.stringify(result.expectedText ?? result.expectedLines)),
      ).toBeLessThan(1100);
    }
  });

  test.each([
    ['signature_malformed', 'it looks like Base64', randomBytes(32).toString('base64')],
    ['signature_malformed', 'it looks like Base64', randomBytes(16).toString('base64url')],
    ['signature_malformed', 'it has 40 digits, like SHA-1', 'a'.repeat(40)],
    ['signature_malformed', 'it has 63 digits', 'a'.repeat(63)],
    ['signature_malformed', 'it has other characters', `0x${'a'.repeat(64)}`],
  ])('names %s, for every client: %s', async (cause, found, sign) => {
    for (const clientId of ['demo', 'nobody']) {
      const reply = await get({ 'X-Sign': sign, 'X-Client-Id': clientId });
      calls.expectRefused(reply, 401, 'invalid_signature');
      expect(reply.json.message).toBe(`X-Sign is not 32 or 64 hex digits; ${found}.`);
      expect(reply.json.result).toMatchObject({ cause, expectedText: right });
    }
  });

  test('of version 2 allows only 64 digits', async () => {
    const reply = await get({ ...calls.booted.signedV2(), 'X-Sign-V2': 'a'.repeat(32) });
    expect(reply.json.message).toBe('X-Sign-V2 is not 64 hex digits; it has 32 digits.');
  });

  test('names the mistake and the fix to a caller that holds the key', async () => {
    const reply = await signedOver(query, String(calls.now), calls.booted.secureKey);
    calls.expectRefused(reply, 401, 'invalid_signature');
    expect(reply.json).toMatchObject({
      message: 'The signed parameters are not sorted by key in byte order.',
      result: {
        cause: 'parameters_unsorted',
        hint: expect.stringContaining('Sort the parameters'),
        documentation: 'docs/signing.md#mistakes',
        expectedText: right,
      },
    });
    expect(reply.headers['www-authenticate']).toMatch(/^Bearer /);
    expect(calls.booted.logLines().at(-1)).toMatchObject({
      code: 'invalid_signature',
      reason: 'parameters_unsorted',
      clientId: 'demo',
    });
  });

  test('names two mistakes that were made together', async () => {
    const sign = digest('MD5', query, String(calls.now), calls.booted.secureKey);
    const { result } = (await get({ 'X-Sign': sign })).json;
    expect(result).toMatchObject({ cause: 'parameters_unsorted', alsoCauses: ['wrong_digest'] });
    expect(result.hint).toMatch(/Sort the parameters .* Use the digest that is registered/);
  });

  test('names the mistake of at most 60 requests per minute and client', async () => {
    const [clientId, secureKey] = ['careless', 'the key of the careless client'];
    await calls.booted.saveClient({ clientId }, secureKey);
    const causeOfNext = async () => {
      calls.now += 1;
      const sign = digest('SHA-256', query, String(calls.now), secureKey);
      return (await get({ 'X-Client-Id': clientId, 'X-Sign': sign })).json.result.cause;
    };
    for (let examined = 0; examined < 60; examined += 1) {
      expect(await causeOfNext()).toBe('parameters_unsorted');
    }
    expect(await causeOfNext()).toBeUndefined();
    calls.now += 60_000;
    expect(await causeOfNext()).toBe('parameters_unsorted');
  });

  test('names a mistake in version 2', async () => {
    const headers = calls.booted.signedV2({ query: right });
    expect((await get(headers)).json.result.cause).toBe('query_not_as_sent');
    const nonce = 'a-nonce-0123456789';
    const timestamp = String(calls.now);
    const reply = await get({
      'X-Nonce': nonce,
      'X-Sign-V2': hmacLines(calls.booted.secureKey, right + timestamp),
    });
    expect(reply.json.result.cause).toBe('digest_in_version_2');
  });

  test('names no mistake for a signature or a nonce that was used', async () => {
    const { booted } = calls;
    const timestamp = String(calls.now);
    const json = { 'Content-Type': 'application/json' };
    const body = '{"id":"used","name":"D"}';
    // The signed body is a common spelling of it.
    const altered = '{"id": "used", "name":"D"}';

    const version1 = booted.signed({ body, timestamp });
    expect((await post(version1, altered)).json.result.cause).toBe('json_serialized_again');
    expect((await post(version1, body)).status).toBe(200);
    const version2 = booted.signedV2({
      ...{ method: 'POST', path: '/device-instance', body, timestamp },
      contentType: 'application/json',
    });
    expect((await post({ ...version2, ...json }, altered)).json.result.cause).toBe(
      'json_serialized_again',
    );
    expect((await post(version2, body)).status).toBe(200);
    booted.upstream.requests.length = 0;

    const { 'X-Sign': digits = '', ...named } = version1;
    const { 'X-Sign-V2': hmac = '', ...named2 } = version2;
    const captured = [
      [version1, altered],
      [{ ...version1, 'X-Sign': digits.toUpperCase() }, altered],
      [{ ...named, 'X-Nonce': 'a-new-nonce-0123456789', 'X-Sign-V2': digits }, body],
      [version2, altered],
      [{ ...named2, 'X-Sign': hmac }, body],
    ] as const;
    for (const [headers, sent] of captured) {
      const reply = await post({ ...headers }, sent);
      calls.expectRefused(reply, 401, 'invalid_signature');
      expect(reply.json.message).toBe('The client is unknown or the signature is wrong.');
      expect(reply.json.result).not.toHaveProperty('cause');
    }
  });

  test.each([
    ['nobody', 'client_unknown', undefined],
    ['disabled', 'client_disabled', 'disabled'],
    ['demo', 'invalid_signature', 'demo'],
  ])('names nothing to others: the log has the reason for %s', async (id, reason, clientId) => {
    await calls.booted.saveClient({ clientId: 'disabled', enabled: false }, calls.booted.secureKey);
    const secureKey = id === 'demo' ? 'another key' : calls.booted.secureKey;
    const reply = await get(calls.booted.signed({ body: query, clientId: id, secureKey }));
    expect(reply.json).toMatchObject({
      message: 'The client is unknown or the signature is wrong.',
      result: { signedAs: 'query', expectedText: right, timestamp: String(calls.now) },
    });
    expect(Object.keys(reply.json.result)).toHaveLength(3);
    const line = calls.booted.logLines().at(-1);
    expect(line).toMatchObject({ code: 'invalid_signature', reason });
    expect(line?.clientId).toBe(clientId);
  });
});

describe('the reply to a request that is rejected before its signature', () => {
  test.each([
    ['timestamp_malformed', () => String(calls.now).slice(0, 10)],
    ['timestamp_malformed', () => `${String(calls.now).slice(0, 10)}.123`],
    ['timestamp_malformed', () => `${calls.now}000`],
    ['timestamp_malformed', () => `${calls.now}000000`],
    ['timestamp_malformed', () => new Date(calls.now).toISOString()],
    ['timestamp_out_of_range', () => String(calls.now - 600_000)],
  ])('names %s of the timestamp', async (cause, timestamp) => {
    const reply = await get({ 'X-Timestamp': timestamp(), 'X-Sign': 'a' });
    calls.expectRefused(reply, 401, 'timestamp_out_of_range');
    expect(reply.json.result).toMatchObject({ cause, serverTime: calls.now });
    expect(calls.booted.logLines().at(-1)).toMatchObject({ reason: cause });
  });

  test.each<[string, () => Promise<Received>]>([
    ['query_with_signed_body', () => post(calls.booted.signed({ body: '{}' }), '{}', '/x?a=1')],
    ['body_not_utf8', () => post(calls.booted.signed({ body: '\ufeff{}' }), '\ufeff{}')],
    ['body_not_utf8', () => post(calls.booted.signed(), Buffer.from([0xe9]))],
    ['parameter_ambiguous', () => get(calls.booted.signed(), '/api/device?a=%26')],
    [
      'form_type_on_json',
      () =>
        post(
          { ...calls.booted.signed(), 'Content-Type': 'application/x-www-form-urlencoded' },
          '{"a":"b&c=100%"}',
        ),
    ],
    [
      'ambiguous_request',
      () =>
        send(calls.booted.port, '/api/device', {
          headers: [...Object.entries(calls.booted.signed()).flat(), 'X-Timestamp', '1'],
        }),
    ],
    [
      'body_with_signed_query',
      () =>
        send(calls.booted.port, '/api/device', {
          headers: { ...calls.booted.signed(), 'Content-Length': '2' },
          body: '{}',
        }),
    ],
    [
      'reply_as_request',
      () => {
        const body = '{"status":200,"code":"a","message":"b","timestamp":1}';
        return post(calls.booted.signed({ body }), body);
      },
    ],
  ])('names %s of an ambiguous request', async (cause, call) => {
    const reply = await call();
    calls.expectRefused(reply, 400, 'ambiguous_request');
    expect(reply.json.result).toMatchObject({ cause, hint: expect.any(String) });
    expect(calls.booted.logLines().at(-1)).toMatchObject({ reason: cause });
  });
});
