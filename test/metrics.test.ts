// requires: redis-server
/** The apps export and describe the metrics that the alerts use, and a caller cannot add any. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  type AppName,
  type MetricFamily,
  oneClient,
  parseMetrics,
  postAs,
  repetitions,
  signatureHeaders,
  until,
} from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const secureKey = 'metricsKey0123456789abcdef';
const bootstrap = {
  ...oneClient(secureKey, {
    grantTypes: ['client_credentials', 'password'],
    scopes: ['device:read', 'device:write'],
  }),
  users: [{ username: 'alice', password: 'correct horse battery', name: 'Alice', orgId: 'org-1' }],
};
const unlimited = '1000000/60';
const system = await startSystem({
  engine: 'redis',
  bootstrap,
  environment: {
    ADDRESS_RATE_LIMIT: unlimited,
    CLIENT_ENDPOINT_RATE_LIMIT: unlimited,
    PAGE_RATE_LIMIT: unlimited,
    LOG_LEVEL: 'warn',
  },
});
await useEverything();

async function exported(app: AppName): Promise<ReadonlyMap<string, MetricFamily>> {
  const reply = await fetch(`${system.member(app).operationsUrl}/metrics`);
  return parseMetrics(await reply.text());
}

const samplesOf = async (app: AppName) =>
  [...(await exported(app)).values()].flatMap(({ samples }) => samples);

const series = async (app: AppName) =>
  (await samplesOf(app)).map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`).sort();

async function requestsOf(app: AppName): Promise<number> {
  const { samples = [] } = (await exported(app)).get('gatehouse_requests_total') ?? {};
  return samples.reduce((sum, { value }) => sum + value, 0);
}

/**
 * Issues a token, signs in, makes verified and rejected calls, writes, and replays, so that all
 * labels appear.
 */
async function useEverything(): Promise<void> {
  const ask = (form: Record<string, string>, secret = secureKey) =>
    postAs(`${system.authorizationServerUrl}/token`, { clientId: 'one', secureKey: secret }, form);
  const list = (token: string) =>
    fetch(`${system.gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } });
  const issued = await ask({ grant_type: 'client_credentials' });
  const { access_token: token } = (await issued.json()) as { access_token: string };
  await ask({ grant_type: 'password', username: 'alice', password: 'wrong' });
  await ask({ grant_type: 'client_credentials' }, 'wrong-secret');
  expect((await list(token)).status).toBe(200);
  await list('no-token');
  const body = JSON.stringify({ id: 'd', name: 'd', productId: 'p', productName: 'P' });
  const signature = signatureHeaders({ clientId: 'one', secureKey }, body);
  const headers = { 'Content-Type': 'application/json', ...signature };
  for (const status of [200, 401]) {
    const url = `${system.gatewayUrl}/device-instance`;
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(status);
  }
}

test.each(['alerts.yml', 'dashboard.json'])(
  'deploy/monitoring/%s uses only exported metrics',
  async (file) => {
    const text = readFileSync(join(root, 'deploy/monitoring', file), 'utf8');
    const used = text.match(/\b(?:gatehouse|process)_[a-z_]+/g) ?? [];
    const families = await Promise.all(system.members.map(({ app }) => exported(app)));
    const known = new Set(families.flatMap((each) => [...each.keys()]));
    expect(used.length).toBeGreaterThan(10);
    expect(
      used.filter((name) => !known.has(name) && !known.has(name.replace(/_bucket$/, ''))),
    ).toEqual([]);
  },
);

const requests = 'gatehouse_requests_total';
const verifications = 'gatehouse_verification_duration_seconds_count';
test.each<[AppName, string, Record<string, string>]>([
  ['authorization-server', requests, { operation: 'token', credential: 'basic', code: '2xx' }],
  ['authorization-server', requests, { outcome: 'refused', code: 'invalid_client' }],
  ['authorization-server', 'gatehouse_tokens_issued_total', { grant: 'client_credentials' }],
  ['authorization-server', 'gatehouse_audit_events_total', { event: 'sign_in_failed' }],
  ['gateway', requests, { operation: 'device.list', credential: 'bearer', outcome: 'success' }],
  ['gateway', requests, { operation: 'device.create', code: 'replayed_request' }],
  ['gateway', 'gatehouse_replay_refusals_total', { credential: 'signature' }],
  ['gateway', verifications, { credential: 'bearer', result: 'accepted' }],
  ['gateway', 'gatehouse_upstream_duration_seconds_count', { operation: 'device.list' }],
  ['device-service', requests, { operation: 'device.create', code: '2xx' }],
])('the %s counts in %s %j', async (app, name, labels) => {
  const samples = (await samplesOf(app)).filter((sample) => sample.name === name);
  const expected = expect.objectContaining({ labels: expect.objectContaining(labels), value: 1 });
  expect(samples).toContainEqual(expected);
});

/** Sends the requests on one connection without waiting, and then waits for as many replies. */
function pipeline(url: string, requests: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let rest = '';
    let replies = 0;
    socket.on('data', (chunk: Buffer) => {
      const text = rest + chunk.toString('latin1');
      replies += text.split('HTTP/1.1 ').length - 1;
      rest = text.slice(-8).includes('HTTP/1.1 ') ? '' : text.slice(-8);
      if (replies >= requests.length) {
        socket.destroy();
        resolve();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`Closed after ${replies} replies.`)));
    socket.write(requests.join(''));
  });
}

const made = (i: number) => createHash('sha256').update(`${i}`).digest('base64url');

/** Requests in which every value that a caller can choose is random. */
function randomRequests(from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_value, i) => {
    const text = made(from + i);
    const head = `Host: ${text}\r\nX-Request-Id: ${text}\r\n`;
    const kinds = [
      `GET /${text} HTTP/1.1\r\n${head}Authorization: Bearer ${text}\r\n`,
      `GET /api/device?a=${text} HTTP/1.1\r\n${head}X-Access-Token: ${text}\r\n`,
      `GET /api/device?b=${text} HTTP/1.1\r\n${head}X-Client-Id: ${text}\r\nX-Timestamp: ${Date.now()}\r\nX-Sign: ${text}\r\n`,
      `GET /authorize?client_id=${text} HTTP/1.1\r\n${head}User-Agent: ${text}\r\n`,
    ];
    return `${kinds[i % kinds.length]}\r\n`;
  });
}

describe('labels of metrics', () => {
  test.each<[AppName, number]>([
    ['gateway', repetitions(10_000)],
    ['device-service', repetitions(4000)],
    ['authorization-server', repetitions(4000)],
  ])(
    'random requests to the %s, in %d variations, add no series and no label value',
    async (app, count) => {
      const { url } = system.member(app);
      await pipeline(url, randomRequests(-100, 100));
      // The request log counts its first entries a second later.
      const counts = 'gatehouse_request_log_entries_total {"result":"over_quota"}';
      await until(
        async () => app === 'device-service' || (await series(app)).join('\n').includes(counts),
      );
      const before = await series(app);
      const counted = await requestsOf(app);
      for (let from = 0; from < count; from += 200) {
        await pipeline(url, randomRequests(from, 200));
      }
      const after = await series(app);
      expect((await requestsOf(app)) - counted).toBeGreaterThan(count * 0.99);
      expect(after).toEqual(before);
      expect(after.length).toBeLessThan(1500);
      const words = after.join('\n');
      expect(randomRequests(0, 50).filter((_request, i) => words.includes(made(i)))).toEqual([]);
    },
  );
});
