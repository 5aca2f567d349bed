// requires: openssl curl

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { failureReasons, signingReasons } from '@gatehouse/errors';
import { canonicalText, parseParameters } from '@gatehouse/signing';
import {
  type RefusedRequestVector,
  type RequestVector,
  signatureVectors,
} from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import {
  bootClockedGateway,
  bootSuiteGateway,
  type ClockedGateway,
  expectRefused,
} from './suite-gateway.ts';

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

const gateway = await bootSuiteGateway();
// This client may use version 2 only.
const modern = { clientId: 'modern', signatureAlgorithm: 'HMAC-SHA-256' } as const;
await gateway.saveClient(modern, gateway.secureKey);
const directory = temporaryFolder();

function scriptOfPage(): string {
  const file = fileURLToPath(new URL('../../../docs/signing.md', import.meta.url));
  const page = readFileSync(file, 'utf8');
  const sample = page.slice(page.indexOf('\n## A script for the shell\n'));
  const [, script] = /```sh\n([\s\S]*?)```/.exec(sample) ?? [];
  if (script === undefined) {
    throw new Error('docs/signing.md has no script.');
  }
  return script;
}

function run(secureKey = gateway.secureKey): Promise<string> {
  const env = {
    ...process.env,
    GATEWAY_URL: `http://127.0.0.1:${gateway.port}`,
    CLIENT_ID: 'modern',
    SECURE_KEY: secureKey,
  };
  const child = spawn('sh', ['-c', `{ ${scriptOfPage()}\n} 2>&1`], { cwd: directory, env });
  return text(child.stdout);
}

describe('docs/signing.md', () => {
  test('has a script that signs and verifies', async () => {
    const output = await run();
    expect(output).toBe('200\n200\n');
    const [read, created] = gateway.upstream.requests;
    const query = parseParameters(new URL(`http://g${read?.url}`).search.slice(1));
    expect(canonicalText(query)).toBe('pageIndex=0&pageSize=20&where=name like %张三%');
    expect(JSON.parse(created?.body.toString() ?? '')).toMatchObject({ productId: 'p1' });
  });

  test('has a script that prints the rejection before it complains about the reply', async () => {
    const output = await run(`${gateway.secureKey}\n`);
    const rejection = output.indexOf('401 {');
    expect(rejection).toBeGreaterThan(-1);
    expect(output.indexOf('"cause":"key_whitespace"')).toBeGreaterThan(rejection);
    expect(output.search(/the reply is not signed by the gateway/i)).toBeGreaterThan(rejection);
    expect(output).not.toMatch(/^200$/m);
  });
});
