/** Compares the calls of the client library with bare `fetch` (README.md). */
import { fork } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { replyLines, requestLines } from '@gatehouse/request-signature/signing';
import { createSignedFetch, createTokenFetch } from '../../packages/client/src/index.ts';

const [rounds = 9, seconds = 2] = process.argv.slice(2).map(Number);
const CONCURRENCY = 16;
/** In these rounds, Node compiles the code. */
const WARM_UP_ROUNDS = 4;
const secureKey = 'benchmarkKey0123456789abcdef';
const server = fork(join(import.meta.dirname, 'server.ts'), [secureKey]);
const [port] = await once(server, 'message');
const gateway = `http://127.0.0.1:${port}`;
const token = 'x'.repeat(43);
const credentials = { gateway, clientId: 'bench' };

const withToken = createTokenFetch({
  ...credentials,
  tokenEndpoint: `${gateway}/token`,
  clientSecret: secureKey,
  fetch: (input, init) =>
    init?.method === 'POST'
      ? Promise.resolve(Response.json({ access_token: token, expires_in: 7200 }))
      : fetch(input, init),
});
const signed = createSignedFetch({ ...credentials, secureKey });
const path = '/api/device?pageSize=10&pageIndex=0';
const headers = { Authorization: `Bearer ${token}` };
const subjects: Readonly<Record<string, () => Promise<Response>>> = {
  'bare fetch': () => fetch(gateway + path, { headers }),
  createTokenFetch: () => withToken(path),
  createSignedFetch: () => signed(path),
  'headers of a signature': () => fetch(gateway + path, { headers: signatureHeaders() }),
  'and a second Response': () => callByHand(false),
  'and four digests': () => callByHand(true),
};

function signatureHeaders() {
  return {
    'X-Client-Id': 'bench',
    'X-Timestamp': String(Date.now()),
    'X-Nonce': crypto.randomUUID(),
    'X-Sign-V2': 'a'.repeat(64),
  };
}

/** The least that a library must do to verify a reply before its caller sees it. */
async function callByHand(isVerified: boolean): Promise<Response> {
  const signature = signatureHeaders();
  const nonce = signature['X-Nonce'];
  if (isVerified) {
    const timestamp = signature['X-Timestamp'];
    const [pathname = '', query = ''] = path.split('?');
    const request = { method: 'GET', path: pathname, query, contentType: '', body: '' };
    signature['X-Sign-V2'] = hmac(
      requestLines({ ...request, clientId: 'bench', timestamp, nonce }, sha256),
    );
  }
  const reply = await fetch(gateway + path, { headers: signature });
  const body = new Uint8Array(await reply.arrayBuffer());
  const { status, statusText, headers } = reply;
  if (isVerified) {
    const timestamp = headers.get('x-timestamp') ?? '';
    const expected = hmac(replyLines({ status, nonce, body, timestamp }, sha256));
    if (expected !== headers.get('x-sign-v2')) {
      throw new Error('The reply has a wrong signature.');
    }
  }
  return new Response(body, { status, statusText, headers });
}

function sha256(_algorithm: string, [part = '']: readonly (string | Uint8Array)[]): string {
  return createHash('sha256').update(part).digest('hex');
}

function hmac(lines: string): string {
  return createHmac('sha256', secureKey).update(lines).digest('hex');
}

interface Measurement {
  readonly callsPerSecond: number;
  readonly microseconds: number;
}

async function measure(call: () => Promise<Response>): Promise<Measurement> {
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  const processorStart = process.cpuUsage();
  let calls = 0;
  const repeat = async () => {
    while (performance.now() < end) {
      await (await call()).json();
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, repeat));
  const { user, system } = process.cpuUsage(processorStart);
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  return { callsPerSecond: calls / elapsedSeconds, microseconds: (user + system) / calls };
}

const measurements: Record<string, Measurement[]> = Object.fromEntries(
  Object.keys(subjects).map((name) => [name, []]),
);
for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
  for (const [name, call] of Object.entries(subjects)) {
    const measurement = await measure(call);
    if (round >= 0) {
      measurements[name]?.push(measurement);
    }
  }
}
server.kill();

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const bare = measurements['bare fetch'] ?? [];
for (const [name, own] of Object.entries(measurements)) {
  const ratio = (key: keyof Measurement) =>
    median(own.map((each, index) => each[key] / (bare[index]?.[key] ?? 0))).toFixed(2);
  console.log(
    [
      name,
      `${Math.round(median(own.map((each) => each.callsPerSecond)))} calls/s`,
      `ratio ${ratio('callsPerSecond')}`,
      `${Math.round(median(own.map((each) => each.microseconds)))} µs of processor time`,
      `ratio ${ratio('microseconds')}`,
    ].join(' | '),
  );
}
