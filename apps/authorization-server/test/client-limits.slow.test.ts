// requires: redis-server

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { basic, requestToken, web } from './fixtures.ts';
import {
  other,
  outcome,
  requestPlatformToken,
  startGrantsSystem,
  startGrantsSystems,
} from './grants-fixtures.ts';

const REQUESTS_PER_MINUTE = 150;
const grant = { grant_type: 'client_credentials' };

const systems = await startGrantsSystems({
  TRUSTED_PROXIES: '127.0.0.0/8, ::1',
  CLIENT_ENDPOINT_RATE_LIMIT: `${REQUESTS_PER_MINUTE}/60`,
  PAGE_RATE_LIMIT: `${REQUESTS_PER_MINUTE}/60`,
});

/** endpoint-limits.test.ts has every limited path. */
describe.each(systems)('the limits of the client endpoints on $engine', ({ system }) => {
  const token = (
    from: string,
    authorization = basic(web.clientId, web.secureKey),
    server = system.first,
  ) => requestToken(server, grant, { authorization, 'x-forwarded-for': from });
  const either = (i: number) => (i % 2 ? system.first : system.second);

  describe('wrong secrets', () => {
    const wrong = basic(web.clientId, 'a wrong secret 0123');

    test('are limited for one client and address, over both processes', async () => {
      const guesses = await Promise.all(
        Array.from({ length: failedSecretLimit.attempts + 10 }, (_, i) =>
          token('192.0.2.1', wrong, either(i)),
        ),
      );
      for (const guess of guesses) {
        expect([401, 429]).toContain(guess.status);
      }
      const key = basic(web.clientId, web.secureKey);
      // A process reads the counts of other processes once per second.
      await sleep(1000);
      expect((await token('192.0.2.1', key, system.second)).status).toBe(429);
      const rejected = await token('192.0.2.1', key);
      expect(outcome(rejected)).toEqual([429, 'too_many_requests']);
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(500);
      expect(rejected.headers.get('pragma')).toBe('no-cache');
    });

    test('affect neither the client at another address nor other clients at this one', async () => {
      expect((await token('192.0.2.2')).status).toBe(200);
      // The clients of an address share 256 counters, so one of two may have that of the client.
      const known = await token('192.0.2.1', basic(other.clientId, other.secureKey));
      const unknown = await token('192.0.2.1', basic('somebody', 'a wrong secret 0123'));
      expect([known.status === 200, unknown.status === 401]).toContain(true);
    });

    test('are also counted for unknown clients', async () => {
      const unknown = basic('nobody', 'a wrong secret 0123');
      for (let i = 0; i < failedSecretLimit.attempts; i += 1) {
        expect((await token('192.0.2.3', unknown)).status).toBe(401);
      }
      expect((await token('192.0.2.3', unknown)).status).toBe(429);
    });

    test('are counted together with those of the platform endpoint', async () => {
      const credentials = { client_id: web.clientId, client_secret: 'a wrong secret 0123' };
      const headers = { 'x-forwarded-for': '192.0.2.4' };
      for (let i = 0; i < failedSecretLimit.attempts; i += 1) {
        await requestPlatformToken(system.first, { ...grant, ...credentials }, headers);
      }
      const { status, body } = await requestPlatformToken(
        system.first,
        { ...grant, ...credentials },
        headers,
      );
      expect([status, body.error, body.code]).toEqual([
        429,
        'too_many_requests',
        'too_many_requests',
      ]);
      expect((await token('192.0.2.4')).status).toBe(429);
    });
  });

  describe('requests', () => {
    test('are limited for one address, exactly, over both processes', async () => {
      const replies = await Promise.all(
        Array.from({ length: REQUESTS_PER_MINUTE + 50 }, (_, i) =>
          token('192.0.2.9', undefined, either(i)),
        ),
      );
      const served = replies.filter(({ status }) => status === 200).length;
      // Each process may lose what it leased and does not use: 1/32 of the limit.
      expect(served).toBeLessThanOrEqual(REQUESTS_PER_MINUTE);
      expect(served).toBeGreaterThanOrEqual(REQUESTS_PER_MINUTE * (1 - 2 / 32));
      const rejected = replies.find(({ status }) => status !== 200);
      expect(rejected && outcome(rejected)).toEqual([429, 'too_many_requests']);
      const { headers } = rejected ?? { headers: new Headers() };
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('pragma')).toBe('no-cache');
      expect(headers.get('ratelimit-policy')).toMatch(
        new RegExp(`^"address"; q=${REQUESTS_PER_MINUTE}; w=60; pk=`),
      );
      expect(headers.get('ratelimit')).toMatch(/^"address"; r=0; t=\d+$/);
      const platform = await requestPlatformToken(system.first, grant, {
        'x-forwarded-for': '192.0.2.9',
      });
      expect([platform.status, platform.body.code]).toEqual([429, 'too_many_requests']);
    });

    test('are counted at the exact path only', async () => {
      for (const path of ['/TOKEN', '/token/', '//token', '/%74oken', '/Platform/oauth2/token']) {
        const reply = await fetch(`${system.first}${path}`, {
          method: 'POST',
          headers: { 'x-forwarded-for': '192.0.2.9' },
        });
        expect([path, [400, 404].includes(reply.status)]).toEqual([path, true]);
      }
    });

    test('are accepted if X-Forwarded-For contains no address', async () => {
      for (const from of ['garbage', '[::', ',,,', '::ffff:', 'x'.repeat(5000)]) {
        expect((await token(from)).status).toBe(200);
      }
    });
  });
});

const system = await startGrantsSystem('sqlite', { CLIENT_ENDPOINT_RATE_LIMIT: '20/60' }, 1);

describe('without trusted proxies', () => {
  test('ignores X-Forwarded-For', async () => {
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        requestToken(system.first, grant, {
          authorization: basic(web.clientId, web.secureKey),
          'x-forwarded-for': `192.0.2.${i}`,
          'x-real-ip': `192.0.2.${i}`,
          forwarded: `for=192.0.2.${i}`,
        }),
      ),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
  });
});
