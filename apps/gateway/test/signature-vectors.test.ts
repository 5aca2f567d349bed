import { failureReasons, signingReasons } from '@gatehouse/errors';
import {
  type RefusedRequestVector,
  type RequestVector,
  signatureVectors,
} from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { send } from './http-client.ts';
import { type SignedCalls, useSignedCalls } from './signed-calls.ts';

const { requests, refusedRequests, replies } = signatureVectors;

/** Registers the client of a vector. The names of some clients describe their settings. */
async function saveClientOf(
  { booted }: SignedCalls,
  vector: RequestVector & Pick<Partial<RefusedRequestVector>, 'removedKey'>,
): Promise<void> {
  const { clientId, secureKey, removedKey, digest = 'SHA-256' } = vector;
  const client = {
    clientId,
    signatureAlgorithm: clientId === 'modern' ? 'HMAC-SHA-256' : digest,
    enabled: clientId !== 'disabled',
  } as const;
  if (removedKey !== undefined) {
    const { clients } = booted.identity;
    await booted.savePublishedClient(client, secureKey, removedKey);
    await clients.removeKey(clientId, clients.secureKeyId(removedKey));
  } else if (clientId !== 'nobody') {
    await booted.savePublishedClient(client, secureKey);
  }
}

function sendVector(
  { booted }: SignedCalls,
  { method, path, query, body }: RequestVector,
  headers: readonly string[],
) {
  const bytes = Buffer.from(body, 'base64');
  const length = bytes.length === 0 ? [] : ['Content-Length', String(bytes.length)];
  return send(booted.port, query === '' ? path : `${path}?${query}`, {
    method,
    headers: [...headers, ...length],
    ...(bytes.length > 0 && { body: bytes }),
  });
}

describe('the test vectors', () => {
  test('cover requests, refused requests and replies of both versions', () => {
    for (const version of [1, 2]) {
      for (const vectors of [requests, refusedRequests, replies]) {
        expect(vectors.filter((each) => each.version === version).length).toBeGreaterThan(15);
      }
    }
  });

  test('contain every reason for which the gateway rejects a signed request', () => {
    const covered = new Set(refusedRequests.map(({ reason }) => reason));
    expect([...covered].filter((reason) => !(reason in failureReasons))).toEqual([]);
    for (const reason of [
      ...Object.keys(signingReasons),
      ...['multiple_credentials', 'missing_signature', 'ambiguous_request'],
      ...['timestamp_out_of_range', 'invalid_signature', 'replayed_request'],
      ...['client_unknown', 'client_disabled'],
    ]) {
      expect(covered).toContain(reason);
    }
  });
});

describe('the gateway accepts the test vector of', () => {
  const calls = useSignedCalls();

  test.each(requests)('version $version: $name', async (vector) => {
    await saveClientOf(calls, vector);
    calls.now = Number(vector.timestamp);
    const { version, clientId, timestamp, nonce = '', contentType, query } = vector;
    const signature = vector.signature ?? '';
    await sendVector(calls, vector, [
      ...['X-Client-Id', clientId, 'X-Timestamp', timestamp],
      ...(version === 1 ? ['X-Sign', signature] : ['X-Nonce', nonce, 'X-Sign-V2', signature]),
      ...(contentType === '' ? [] : ['Content-Type', contentType]),
    ]);
    expect(calls.booted.logLines().at(-1)).toMatchObject({ clientId, credential: 'signature' });
    const forwarded = calls.booted.upstream.requests.at(-1);
    if (version === 2 && forwarded !== undefined) {
      expect(forwarded.body.toString('base64')).toBe(vector.body);
      expect(forwarded.url?.split('?')[1] ?? '').toBe(query);
    }
  });
});

describe('the gateway rejects the test vector of', () => {
  // Another gateway, since the mistakes of the requests above are not explained once their nonces
  // are used.
  const calls = useSignedCalls();

  test.each(refusedRequests)('version $version: $name', async (vector) => {
    await saveClientOf(calls, vector);
    calls.now = vector.clock;
    const headers = vector.headers.flat();
    if (vector.sentTwice === true) {
      expect((await sendVector(calls, vector, headers)).status).toBe(200);
      calls.booted.upstream.requests.length = 0;
    }
    calls.expectRefused(await sendVector(calls, vector, headers), vector.status, vector.code);
    expect(calls.booted.logLines().at(-1)).toMatchObject({ reason: vector.reason });
  });
});
