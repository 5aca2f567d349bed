// runs alone: it compares times
/** Neither the replies nor their times tell an attacker whether a client or a character is right. */
import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { findMatchingKey, nodeDigest, sign } from '@gatehouse/signing';
import { median, medianRatio, type Times } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { bootGateway } from './booted-gateway.ts';

/** Ids of equal length, so that their requests and replies have equal sizes. */
const clientIds = ['demo', 'md5-', 'hmac', 'gone', 'two-', 'nobd'] as const;
/** More than a window of the budget of diagnoses, so that every signature is examined. */
const STEP_MILLISECONDS = 61_000;
const ATTEMPTS = 4;

let now = Date.now();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const gateway = await bootGateway({ now: () => now });
const key = 'a secure key of a client';
await gateway.saveClient({ clientId: 'md5-', signatureAlgorithm: 'MD5' }, key);
await gateway.saveClient({ clientId: 'hmac', signatureAlgorithm: 'HMAC-SHA-256' }, key);
await gateway.saveClient({ clientId: 'gone', enabled: false }, key);
await gateway.saveClient({ clientId: 'two-' }, key);
await gateway.identity.clients.rotateKey('two-', { replaceOldest: false });
await gateway.identity.clients.rotateKey('two-', { replaceOldest: true });
afterAll(async () => {
  agent.destroy();
  // Searching the log for all signatures would take hours.
  await gateway.close();
});

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Makes a request of the round. Only the client id differs within a round. */
type Requests = (round: number) => Sent;

/** The reply without what differs for each request, and its time. */
function exchange(clientId: string, { body, ...sent }: Sent) {
  const headers = { ...sent.headers, 'X-Client-Id': clientId };
  const at = { host: '127.0.0.1', port: gateway.port, agent };
  return new Promise<{ reply: string; nanoseconds: number }>((resolve, reject) => {
    const started = process.hrtime.bigint();
    const outgoing = request({ ...at, ...sent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        const nanoseconds = Number(process.hrtime.bigint() - started);
        const { 'x-request-id': _id, date: _date, ratelimit: _left, ...others } = response.headers;
        const reply = JSON.stringify([response.statusCode, others, text]);
        resolve({ reply: reply.replaceAll(clientId, 'SENT'), nanoseconds });
      });
    });
    outgoing.on('error', reject).end(body);
  });
}

/** Returns by how much the times of the clients differ from those of an unknown one. */
async function measureDifference(requestOf: Requests, from: number, rounds: number) {
  const samples = clientIds.map((): number[] => []);
  for (let round = from; round < from + rounds; round += 1) {
    now += STEP_MILLISECONDS;
    const replies = new Set<string>();
    const sent = requestOf(round);
    // In a random order, because work after a reply can delay the next request.
    const places = new Map([...clientIds.keys()].map((index) => [index, Math.random()]));
    for (const [index] of [...places].sort(([, one], [, other]) => one - other)) {
      const { reply, nanoseconds } = await exchange(clientIds[index] ?? '', sent);
      replies.add(reply);
      samples[index]?.push(nanoseconds);
    }
    if (replies.size !== 1) {
      expect([...replies]).toEqual(['equal replies']);
    }
  }
  const times: readonly Times[] = samples.map((each) => each.slice(rounds / 30));
  const unknown = times[clientIds.indexOf('nobd')] ?? [];
  return Math.max(...times.map((each) => Math.abs(medianRatio(each, unknown) - 1)));
}

const secureKey = 'wrong';

/** Small requests of both versions, with and without a body. */
function smallRequest(round: number): Sent {
  const query = `pageSize=${round}&pageIndex=0&where=name%20like%20a`;
  const common = { secureKey, nonce: `nonce-of-round-${round}-0123456789` };
  if (round % 3 !== 0) {
    const signing = { ...common, query };
    const headers = round % 2 === 0 ? gateway.signed(signing) : gateway.signedV2(signing);
    return { method: 'GET', path: `/api/device?${query}`, headers, body: '' };
  }
  const creation = { method: 'POST', path: '/device-instance', contentType: 'application/json' };
  const body = `{"id":"d${round}","name":"café/${round}"}`;
  const signing = { ...common, ...creation, body };
  const headers = round % 2 === 0 ? gateway.signed(signing) : gateway.signedV2(signing);
  return { ...creation, headers: { ...headers, 'Content-Type': creation.contentType }, body };
}

/**
 * Large bodies. Without their digest, the time would change by 40 %. With the digest of another
 * algorithm, it would change by 20 %.
 */
function largeRequest(round: number): Sent {
  const signing = { body: `x${round}`, secureKey };
  const headers = round % 2 === 0 ? gateway.signed(signing) : gateway.signedV2(signing);
  return { method: 'POST', path: '/device-instance', headers, body: 'a'.repeat(512 * 1024) };
}

describe('a wrong signature with a wrong key', () => {
  test.each([
    ['100,000 small requests', smallRequest, 16_700, 0.05],
    ['large requests', largeRequest, 300, 0.12],
  ])(
    'gets the same reply in the same time, whatever the client: %s',
    async (_name, requestOf, rounds, tolerance) => {
      // A difference in the code shows in each measurement, and a busy machine only in some.
      let difference = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < ATTEMPTS && difference >= tolerance; attempt += 1) {
        difference = await measureDifference(requestOf, attempt * rounds, rounds);
        process.stdout.write(`The largest difference is ${(100 * difference).toFixed(1)} %.\n`);
      }
      expect(difference).toBeLessThan(tolerance);
    },
    1_800_000,
  );

  test('takes a time that does not depend on the number of correct characters', () => {
    const secureKey = 'kQ3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC';
    const input = { algorithm: 'SHA-256', signedText: 'a=1', timestamp: '1574993804802' } as const;
    const right = createHash('sha256').update(`a=11574993804802${secureKey}`).digest('hex');
    const guesses = Array.from({ length: 33 }, (_, length) => {
      const next = right[length] === 'f' ? '0' : 'f';
      return (right.slice(0, length) + next).padEnd(64, '0');
    });
    // Each round compares the guesses with each other, because the speed of a processor changes.
    // The median ignores the rounds that another process disturbed.
    const increases = Array.from({ length: 1000 }, (_, round) => {
      const times = guesses.map(() => 0);
      for (const offset of guesses.keys()) {
        // The order changes each round.
        const index = (round + offset) % guesses.length;
        const started = process.hrtime.bigint();
        for (let repeat = 0; repeat < 20; repeat += 1) {
          findMatchingKey(guesses[index] ?? '', [secureKey], (key) => sign(input, key, nodeDigest));
        }
        times[index] = Number(process.hrtime.bigint() - started);
      }
      return increaseOf(times);
    });
    // A comparison that stops early takes 70 % more time for 32 correct characters than for none.
    expect(Math.abs(median(increases))).toBeLessThan(0.05);
  });
});

/** Returns by which part of their mean the times increase from the first to the last (regression). */
function increaseOf(times: Times): number {
  const last = times.length - 1;
  const mean = times.reduce((sum, each) => sum + each, 0) / times.length;
  const covariance = times.reduce((sum, each, index) => sum + (index - last / 2) * each, 0);
  const variance = times.reduce((sum, _each, index) => sum + (index - last / 2) ** 2, 0);
  return ((covariance / variance) * last) / mean;
}
