// runs alone: it compares times
/**
 * 100,000 wrong signatures with wrong keys: the replies to unknown, disabled and known clients are
 * equal byte for byte, and take the same time.
 */
import { Agent, request } from 'node:http';
import { median, medianRatio, type Times } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway } from './booted-gateway.ts';

/** Ids of equal length, so that their requests and replies have equal sizes. */
const clientIds = ['demo', 'md5-', 'hmac', 'gone', 'two-', 'nobd'] as const;
const ROUNDS = 16_700;
/** More than a window of the budget, so that every signature is examined. */
const STEP_MILLISECONDS = 61_000;
const JUDGED = 500;
const TOLERANCE = 0.05;

let booted: BootedGateway;
let now = Date.now();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  booted = await bootGateway({ now: () => now });
  const key = 'a secure key of a client';
  await booted.saveClient({ clientId: 'md5-', signatureAlgorithm: 'MD5' }, key);
  await booted.saveClient({ clientId: 'hmac', signatureAlgorithm: 'HMAC-SHA-256' }, key);
  await booted.saveClient({ clientId: 'gone', enabled: false }, key);
  await booted.saveClient({ clientId: 'two-' }, key);
  await booted.identity.clients.rotateKey('two-', { replaceOldest: false });
  await booted.identity.clients.rotateKey('two-', { replaceOldest: true });
});
afterAll(async () => {
  agent.destroy();
  // Searching the log for 50,000 signatures would take hours.
  await booted.close();
});

interface Exchange {
  readonly reply: string;
  readonly nanoseconds: number;
}

/** A request of the round, signed with a wrong key. Only the client id differs within a round. */
function requestOf(round: number, clientId: string) {
  const version = round % 2;
  const method = round % 3 === 0 ? 'POST' : 'GET';
  const query = method === 'GET' ? `pageSize=${round}&pageIndex=0&where=name%20like%20a` : '';
  const body = method === 'POST' ? `{"id":"d${round}","name":"café/${round}"}` : '';
  const contentType = method === 'POST' ? { contentType: 'application/json' } : {};
  const path = method === 'POST' ? '/device-instance' : '/api/device';
  const secureKey = 'wrong';
  const headers =
    version === 0
      ? booted.signed({ query, body: body || 'x', clientId: 'demo', secureKey })
      : booted.signedV2({
          ...{ method, path, query, body, clientId: 'demo', secureKey, ...contentType },
          nonce: `nonce-of-round-${round}-0123456789`,
        });
  const target = query === '' ? path : `${path}?${query}`;
  const type = method === 'POST' ? { 'Content-Type': 'application/json' } : {};
  return { method, target, body, headers: { ...headers, ...type, 'X-Client-Id': clientId } };
}

function exchange(round: number, clientId: string): Promise<Exchange> {
  const { method, target, body, headers } = requestOf(round, clientId);
  return new Promise((resolve, reject) => {
    const started = process.hrtime.bigint();
    const outgoing = request(
      { host: '127.0.0.1', port: booted.port, path: target, method, agent, headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => {
          const nanoseconds = Number(process.hrtime.bigint() - started);
          const {
            'x-request-id': _id,
            date: _date,
            ratelimit: _left,
            ...others
          } = response.headers;
          const reply = JSON.stringify([response.statusCode, others, text]);
          resolve({ reply: reply.replaceAll(clientId, 'SENT'), nanoseconds });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Returns the times of the rounds for each client id. */
async function measure(first: number, rounds: number): Promise<readonly Times[]> {
  const samples = clientIds.map((): number[] => []);
  for (let round = first; round < first + rounds; round += 1) {
    now += STEP_MILLISECONDS;
    const replies = new Set<string>();
    // In a random order, because work after a reply can delay the next request.
    const places = new Map([...clientIds.keys()].map((index) => [index, Math.random()]));
    for (const [index] of [...places].sort(([, one], [, other]) => one - other)) {
      const { reply, nanoseconds } = await exchange(round, clientIds[index] ?? '');
      replies.add(reply);
      samples[index]?.push(nanoseconds);
    }
    if (replies.size !== 1) {
      expect([...replies]).toEqual(['equal replies']);
    }
  }
  return samples.map((each) => each.slice(JUDGED));
}

describe('a wrong signature with a wrong key', () => {
  test('gets the same reply in the same time, whatever the client', async () => {
    // A difference in the code shows in each measurement, and a busy machine only in some.
    let difference = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 4 && difference >= TOLERANCE; attempt += 1) {
      const times = await measure(attempt * ROUNDS, ROUNDS);
      const unknown = times[clientIds.indexOf('nobd')] ?? [];
      difference = Math.max(...times.map((each) => Math.abs(medianRatio(each, unknown) - 1)));
      const shown = times.map(
        (each, index) => `${clientIds[index]} ${(median(each) / 1000).toFixed(0)} µs`,
      );
      process.stdout.write(
        `${ROUNDS * clientIds.length} wrong signatures: ${shown.join(', ')}; the largest difference is ${(100 * difference).toFixed(1)} %\n`,
      );
    }
    expect(difference).toBeLessThan(TOLERANCE);
  }, 1_800_000);
});
