import { failureReasons, signingReasons } from '@gatehouse/errors';
import {
  type RefusedRequestVector,
  type RequestVector,
  signatureVectors,
} from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { bootClockedGateway, type ClockedGateway, expectRefused } from './suite-gateway.ts';

const { requests, refusedRequests } = signatureVectors;
const accepting = await bootClockedGateway();
// The mistakes of a request are not explained once its nonce is used, so another gateway rejects.
const rejecting = await bootClockedGateway();

/** Registers the client of a vector. The names of some clients describe their settings. */
async function saveClientOf(
  gateway: ClockedGateway,
  vector: RequestVector & Pick<Partial<RefusedRequestVector>, 'removedKey'>,
): Promise<void> {
  const { clientId, secureKey, removedKey, digest = 'SHA-256' } = vector;
  const client = {
    clientId,
    signatureAlgorithm: clientId === 'modern' ? 'HMAC-SHA-256' : digest,
    enabled: clientId !== 'disabled',
  } as const;
  if (removedKey !== undefined) {
    const { clients } = gateway.identity;
    await gateway.savePublishedClient(client, secureKey, removedKey);
    await clients.removeKey(clientId, clients.secureKeyId(removedKey));
  } else if (clientId !== 'nobody') {
    await gateway.savePublishedClient(client, secureKey);
  }
}

function sendVector(
  gateway: ClockedGateway,
  { method, path, query, body }: RequestVector,
  headers: readonly string[],
) {
  const bytes = Buffer.from(body, 'base64');
  const length = bytes.length === 0 ? [] : ['Content-Length', String(bytes.length)];
  return gateway.send(query === '' ? path : `${path}?${query}`, {
    method,
    headers: [...headers, ...length],
    ...(bytes.length > 0 && { body: bytes }),
  });
}

test('The test vectors have every reason for which the gateway rejects a signed request.', () => {
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

test.each(requests)('The gateway accepts the vector of version $version: $name', async (vector) => {
  await saveClientOf(accepting, vector);
  accepting.clock.now = Number(vector.timestamp);
  const { version, clientId, timestamp, nonce = '', contentType, query } = vector;
  const signature = vector.signature ?? '';
  await sendVector(accepting, vector, [
    ...['X-Client-Id', clientId, 'X-Timestamp', timestamp],
    ...(version === 1 ? ['X-Sign', signature] : ['X-Nonce', nonce, 'X-Sign-V2', signature]),
    ...(contentType === '' ? [] : ['Content-Type', contentType]),
  ]);
  expect(accepting.logLines().at(-1)).toMatchObject({ clientId, credential: 'signature' });
  const forwarded = accepting.upstream.requests.at(-1);
  if (version === 2 && forwarded !== undefined) {
    expect(forwarded.body.toString('base64')).toBe(vector.body);
    expect(forwarded.url?.split('?')[1] ?? '').toBe(query);
  }
});

test.each(refusedRequests)(
  'The gateway rejects the vector of version $version: $name',
  async (vector) => {
    await saveClientOf(rejecting, vector);
    rejecting.clock.now = vector.clock;
    const headers = vector.headers.flat();
    if (vector.sentTwice === true) {
      expect((await sendVector(rejecting, vector, headers)).status).toBe(200);
      rejecting.upstream.requests.length = 0;
    }
    const reply = await sendVector(rejecting, vector, headers);
    expectRefused(rejecting, reply, vector.status, vector.code);
    expect(rejecting.logLines().at(-1)).toMatchObject({ reason: vector.reason });
  },
);
