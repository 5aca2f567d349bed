// requires: redis-server
/** The limits over two processes. limits.test.ts and sign-in-attempts.test.ts test the rules. */
import { availableParallelism } from 'node:os';
import { createPageVisitor, until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { addressLimit, failedSecretLimit } from '../src/throttle/limits.ts';
import { bob, full, machine, web } from './installation.ts';
import {
  as,
  asWeb,
  machineGrant,
  outcome,
  startOnEngines,
  startServers,
  type User,
} from './server.ts';

const REQUESTS_PER_MINUTE = 150;
const wrong = { ...web, secureKey: 'a wrong secret 0123' };

const systems = await startOnEngines({
  servers: 2,
  environment: {
    TRUSTED_PROXIES: '127.0.0.0/8, ::1',
    CLIENT_ENDPOINT_RATE_LIMIT: `${REQUESTS_PER_MINUTE}/60`,
    PAGE_RATE_LIMIT: `${REQUESTS_PER_MINUTE}/60`,
  },
});

describe.each(systems)('on $engine', ({ system }) => {
  /** The address in X-Forwarded-For of a trusted proxy. Every test has its own. */
  let address = '';
  let testNumber = 0;
  beforeEach(() => {
    testNumber += 1;
    address = `203.0.113.${testNumber}`;
  });
  const ask = (client = web as { clientId: string; secureKey: string }, turn = 0, from = address) =>
    system.any(turn).token(machineGrant, { ...as(client), 'x-forwarded-for': from });

  describe('wrong secrets', () => {
    test('are limited for one client and address, over both processes', async () => {
      const guesses = await Promise.all(
        Array.from({ length: failedSecretLimit.attempts + 10 }, (_, i) => ask(wrong, i)),
      );
      expect(guesses.filter(({ status }) => ![401, 429].includes(status))).toEqual([]);
      // A process reads the counts of other processes once per second.
      for (const process of [0, 1]) {
        await until(async () => (await ask(web, process)).status === 429);
      }
      const rejected = await ask();
      expect(outcome(rejected)).toEqual([429, 'too_many_requests']);
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(500);
      expect(rejected.headers.get('pragma')).toBe('no-cache');
      // Neither the client at another address nor other clients at this one are affected.
      expect((await ask(web, 0, '192.0.2.2')).status).toBe(200);
      // The clients of an address share 256 counters, so one of two may have that of the client.
      const known = await ask(machine);
      const unknown = await ask({ ...wrong, clientId: 'nobody' });
      expect([known.status === 200, unknown.status === 401]).toContain(true);
    });
  });

  describe('requests', () => {
    test.each(['garbage', '[::', ',,,', '::ffff:', 'x'.repeat(5000)])(
      'are accepted if X-Forwarded-For is %j',
      async (from) => {
        expect((await ask(web, 0, from)).status).toBe(200);
      },
    );
  });

  describe('sign-ins', () => {
    const signIn = (user: User, from = address, turn = 0) =>
      system
        .any(turn)
        .token({ grant_type: 'password', ...user }, { ...as(full), 'x-forwarded-for': from });
    const openSignIn = async () => {
      const visitor = createPageVisitor();
      return { visitor, page: await system.first.openSignIn(visitor) };
    };

    test('get 503 with Retry-After if the server cannot hash soon, and are not counted', async () => {
      const flood = await Promise.all(
        Array.from({ length: availableParallelism() * 40 }, (_, i) => {
          const user = { username: `crowd-${i}`, password: 'a wrong password' };
          return signIn(user, `2001:db8:${testNumber}:${i}00::1`);
        }),
      );
      const outcomes = new Set(flood.map((reply) => outcome(reply).join(' ')));
      expect(outcomes).toEqual(new Set(['400 invalid_grant', '503 temporarily_unavailable']));
      const busy = flood.find(({ status }) => status === 503);
      expect(Number(busy?.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await signIn(bob)).status).toBe(200);
    });

    test('get a page with status 429 at the sign-in page', async () => {
      const { visitor, page } = await openSignIn();
      for (const each of ['127.0.0.1', '0:0:0:0/56']) {
        const { windowSeconds, attempts } = addressLimit;
        await system.store.increment(`sign-ins:address:${each}`, windowSeconds, attempts);
      }
      const rejected = await visitor.submit(page, bob);
      expect(rejected.status).toBe(429);
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(rejected.body).toContain('too many attempts');
    });
  });
});

const { first } = await startServers({ environment: { CLIENT_ENDPOINT_RATE_LIMIT: '20/60' } });

test('without trusted proxies, X-Forwarded-For is ignored', async () => {
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, i) => {
      const from = `192.0.2.${i}`;
      const claims = { 'x-forwarded-for': from, 'x-real-ip': from, forwarded: `for=${from}` };
      return first.token(machineGrant, { ...asWeb, ...claims });
    }),
  );
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
});
