// runs alone: it compares times
import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { findSigningKey, nodeDigest } from '@gatehouse/signing';
import { median, medianRatio, type Times } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway } from './booted-gateway.ts';

/** Returns by which part of their mean the times increase from the first to the last (regression). */
function increaseOf(times: Times): number {
  const last = times.length - 1;
  const mean = times.reduce((sum, each) => sum + each, 0) / times.length;
  const covariance = times.reduce((sum, each, index) => sum + (index - last / 2) * each, 0);
  const variance = times.reduce((sum, _each, index) => sum + (index - last / 2) ** 2, 0);
  return ((covariance / variance) * last) / mean;
}

/**
 * Tolerance of the time on a busy machine. Without the digest, the time would change by 40 %. With
 * the digest of the other algorithm, it would change by 20 %.
 */
const TOLERANCE = 0.12;

describe('the time to reject a signature', () => {
  test('does not depend on the number of correct characters', () => {
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
          findSigningKey(input, guesses[index] ?? '', [secureKey], nodeDigest);
        }
        times[index] = Number(process.hrtime.bigint() - started);
      }
      return increaseOf(times);
    });
    // A comparison that stops early takes 70 % more time for 32 correct characters than for none.
    expect(Math.abs(median(increases))).toBeLessThan(0.05);
  });

  describe('over HTTP', () => {
    let booted: BootedGateway;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });

    beforeAll(async () => {
      booted = await bootGateway();
      await booted.saveClient(
        { clientId: 'md5-', signatureAlgorithm: 'MD5' },
        'another key of another',
      );
    });
    afterAll(async () => {
      agent.destroy();
      await booted.close();
    });

    function timed(headers: Record<string, string>, body: Buffer): Promise<number> {
      return new Promise((resolve, reject) => {
        const started = process.hrtime.bigint();
        const outgoing = request(
          {
            host: '127.0.0.1',
            port: booted.port,
            path: '/device-instance',
            method: 'POST',
            agent,
            headers: { ...headers, 'Content-Length': body.length },
          },
          (response) => {
            expect(response.statusCode).toBe(401);
            response.resume();
            response.on('end', () => resolve(Number(process.hrtime.bigint() - started)));
          },
        );
        outgoing.on('error', reject);
        outgoing.end(body);
      });
    }

    test.each([1, 2])(
      'of version %d is the same for an unknown client and a wrong signature, with both algorithms',
      async (version) => {
        // A difference in the code shows in each measurement, and a busy machine only in some.
        let difference = Number.POSITIVE_INFINITY;
        for (let attempt = 0; attempt < 4 && difference >= TOLERANCE; attempt += 1) {
          difference = await measureDifference(version);
        }
        expect(difference).toBeLessThan(TOLERANCE);
      },
      300_000,
    );

    /** Returns by how much the time of a known client differs from that of an unknown one. */
    async function measureDifference(version: number): Promise<number> {
      const body = Buffer.alloc(512 * 1024, 'a');
      const classes = ['demo', 'nobd', 'md5-'];
      const samples = classes.map((): number[] => []);
      for (let round = 0; round < 250; round += 1) {
        for (const offset of classes.keys()) {
          // The order changes each round.
          const index = (round + offset) % classes.length;
          const clientId = classes[index] ?? '';
          const headers = {
            ...(version === 1
              ? booted.signed({ body: 'x', secureKey: 'wrong' })
              : booted.signedV2({ body: 'x', secureKey: 'wrong' })),
            'X-Client-Id': clientId,
          };
          samples[index]?.push(await timed(headers, body));
        }
      }
      const [known = [], unknown = [], md5 = []] = samples.map((each) => each.slice(20));
      return Math.max(...[known, md5].map((each) => Math.abs(medianRatio(each, unknown) - 1)));
    }
  });
});
