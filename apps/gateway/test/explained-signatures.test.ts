import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { bootClockedGateway, expectRefused } from './suite-gateway.ts';
import { digest, hmacLines } from './test-credentials.ts';

const gateway = await bootClockedGateway();
const query = 'pageSize=20&pageIndex=0';
const right = 'pageIndex=0&pageSize=20';
const now = () => String(gateway.clock.now);

function get(headers: Record<string, string>, path = `/api/device?${query}`) {
  const own = { 'X-Client-Id': 'demo', 'X-Timestamp': now() };
  return gateway.send(path, { headers: { ...own, ...headers } });
}

/** Sends a GET whose X-Sign is a SHA-256 over the parts. */
const signedOver = (...parts: readonly string[]) => get({ 'X-Sign': digest('SHA-256', ...parts) });

function post(headers: Record<string, string>, body: string) {
  return gateway.send('/device-instance', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  });
}

// The vectors of signature-vectors.test.ts have a request for every cause.
describe('the reply to a wrong signature', () => {
  test('has the signed text and the timestamp of a query', async () => {
    const reply = await signedOver('wrong');
    expectRefused(gateway, reply, 401, 'invalid_signature');
    expect(reply.json.result).toEqual({
      signedAs: 'query',
      expectedText: right,
      timestamp: now(),
    });
  });

  test('has the text of a form, and length and SHA-256 of another body', async () => {
    const headers = gateway.signed({ body: 'wrong' });
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
    const headers = gateway.signedV2({ query: 'x=1' });
    expect((await get(headers)).json.result).toEqual({
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
    for (const headers of [{ 'X-Sign': 'f'.repeat(64) }, gateway.signedV2({})]) {
      const { isCut, expectedText, expectedLines } = (await get(headers, long)).json.result;
      expect(isCut).toBe(true);
      expect(Buffer.byteLength(JSON.stringify(expectedText ?? expectedLines))).toBeLessThan(1100);
    }
  });

  test('names a malformed signature to every caller', async () => {
    const sign = randomBytes(32).toString('base64');
    for (const clientId of ['demo', 'nobody']) {
      const reply = await get({ 'X-Sign': sign, 'X-Client-Id': clientId });
      expectRefused(gateway, reply, 401, 'invalid_signature');
      expect(reply.json.message).toBe('X-Sign is not 32 or 64 hex digits; it looks like Base64.');
      const cause = 'signature_malformed';
      expect(reply.json.result).toMatchObject({ cause, expectedText: right });
    }
  });

  test('names the mistake and the fix to a caller that holds the key', async () => {
    const reply = await signedOver(query, now(), gateway.secureKey);
    expectRefused(gateway, reply, 401, 'invalid_signature');
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
    expect(gateway.logLines().at(-1)).toMatchObject({
      code: 'invalid_signature',
      reason: 'parameters_unsorted',
      clientId: 'demo',
    });
  });

  test('names two mistakes that were made together', async () => {
    const sign = digest('MD5', query, now(), gateway.secureKey);
    const { result } = (await get({ 'X-Sign': sign })).json;
    expect(result).toMatchObject({ cause: 'parameters_unsorted', alsoCauses: ['wrong_digest'] });
    expect(result.hint).toMatch(/Sort the parameters .* Use the digest that is registered/);
  });

  test('names a mistake in version 2', async () => {
    const sign = hmacLines(gateway.secureKey, right + now());
    const reply = await get({ 'X-Nonce': 'a-nonce-0123456789', 'X-Sign-V2': sign });
    expect(reply.json.result.cause).toBe('digest_in_version_2');
  });

  test('names the mistake of at most 60 requests per minute and client', async () => {
    const [clientId, secureKey] = ['careless', 'the key of the careless client'];
    await gateway.saveClient({ clientId }, secureKey);
    const causeOfNext = async () => {
      gateway.clock.now += 1;
      const sign = digest('SHA-256', query, now(), secureKey);
      return (await get({ 'X-Client-Id': clientId, 'X-Sign': sign })).json.result.cause;
    };
    for (let examined = 0; examined < 60; examined += 1) {
      expect(await causeOfNext()).toBe('parameters_unsorted');
    }
    expect(await causeOfNext()).toBeUndefined();
    gateway.clock.now += 60_000;
    expect(await causeOfNext()).toBe('parameters_unsorted');
  });

  test('names no mistake for a signature or a nonce that was used', async () => {
    const body = '{"id":"used","name":"D"}';
    // The signed body is a common spelling of it.
    const altered = '{"id": "used", "name":"D"}';
    const version1 = gateway.signed({ body });
    const creation = { method: 'POST', path: '/device-instance', contentType: 'application/json' };
    const version2 = gateway.signedV2({ ...creation, body });
    for (const headers of [version1, version2]) {
      expect((await post(headers, altered)).json.result.cause).toBe('json_serialized_again');
      expect((await post(headers, body)).status).toBe(200);
    }
    gateway.upstream.requests.length = 0;

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
      expectRefused(gateway, reply, 401, 'invalid_signature');
      expect(reply.json.message).toBe('The client is unknown or the signature is wrong.');
      expect(reply.json.result).not.toHaveProperty('cause');
    }
  });

  test.each([
    ['nobody', 'client_unknown', undefined],
    ['disabled', 'client_disabled', 'disabled'],
    ['demo', 'invalid_signature', 'demo'],
  ])('names nothing to others: the log has the reason for %s', async (id, reason, clientId) => {
    await gateway.saveClient({ clientId: 'disabled', enabled: false }, gateway.secureKey);
    const secureKey = id === 'demo' ? 'another key' : gateway.secureKey;
    const reply = await get(gateway.signed({ body: query, clientId: id, secureKey }));
    expect(reply.json.message).toBe('The client is unknown or the signature is wrong.');
    expect(reply.json.result).toEqual({
      signedAs: 'query',
      expectedText: right,
      timestamp: now(),
    });
    const line = gateway.logLines().at(-1);
    expect(line).toMatchObject({ code: 'invalid_signature', reason });
    expect(line?.clientId).toBe(clientId);
  });
});

test('A request with a wrong timestamp gets the time of the gateway.', async () => {
  const reply = await get({ 'X-Timestamp': now().slice(0, 10), 'X-Sign': 'a' });
  expectRefused(gateway, reply, 401, 'timestamp_out_of_range');
  const { now: serverTime } = gateway.clock;
  expect(reply.json.result).toMatchObject({ cause: 'timestamp_malformed', serverTime });
});

test('An ambiguous request gets its cause and a hint.', async () => {
  const reply = await get(gateway.signed(), '/api/device?a=%26');
  expectRefused(gateway, reply, 400, 'ambiguous_request');
  const cause = 'parameter_ambiguous';
  expect(reply.json.result).toMatchObject({ cause, hint: expect.any(String) });
});
