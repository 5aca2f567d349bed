// requires: redis-server
// runs alone: it compares times

import { medianRatio, startConstellation } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { accountLimit } from '../src/throttle/limits.ts';
import { basic, requestToken } from './fixtures.ts';
import { blocked, full, grantsBootstrap } from './grants-fixtures.ts';

const SAMPLES = 24;
/** The server locks an account after this many failures. */
const SAMPLES_PER_ACCOUNT = accountLimit.attempts - 1;
/** Generous, because other processes share the machine. A missing hash takes 90 % less time. */
const TOLERANCE = 0.5;

const accounts = Array.from({ length: Math.ceil(SAMPLES / SAMPLES_PER_ACCOUNT) }, (_, i) => i);
const locked = { username: 'locked', password: 'a password of locked' };

describe('the time of a rejected sign-in', () => {
  let system: Awaited<ReturnType<typeof startConstellation>>;

  beforeAll(async () => {
    system = await startConstellation({
      engine: 'redis',
      apps: ['authorization-server'],
      environment: { TRUSTED_PROXIES: '127.0.0.1, ::1' },
      bootstrap: {
        ...grantsBootstrap,
        users: [
          ...accounts.flatMap((i) => [
            { username: `known-${i}`, password: 'a password', name: 'Known', orgId: 'org-1' },
            { ...blocked, username: `off-${i}`, name: 'Off', orgId: 'org-1', enabled: false },
          ]),
          { ...locked, name: 'Locked', orgId: 'org-1' },
        ],
      },
    });
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      await refuse(locked.username, 'a wrong password');
    }
  });
  afterAll(() => system.stop());

  let requests = 0;
  const refuse = async (username: string, password: string) => {
    requests += 1;
    const started = performance.now();
    const { status } = await requestToken(
      system.authorizationServerUrl,
      { grant_type: 'password', username, password },
      {
        authorization: basic(full.clientId, full.secureKey),
        'x-forwarded-for': `192.0.2.${requests % 250}`,
      },
    );
    expect(status).toBe(400);
    return performance.now() - started;
  };

  test('is equal for unknown, wrong, disabled and locked', async () => {
    const account = (i: number) => Math.floor(i / SAMPLES_PER_ACCOUNT);
    const attempts = {
      wrong: (i: number) => refuse(`known-${account(i)}`, 'a wrong password'),
      unknown: (i: number) => refuse(`unknown-${account(i)}`, 'a wrong password'),
      disabled: (i: number) => refuse(`off-${account(i)}`, blocked.password),
      locked: () => refuse(locked.username, locked.password),
    };
    const times = { wrong: [], unknown: [], disabled: [], locked: [] } as Record<string, number[]>;
    for (let i = 0; i < SAMPLES; i += 1) {
      for (const [name, attempt] of Object.entries(attempts)) {
        times[name]?.push(await attempt(i));
      }
    }
    const ratios = Object.entries(times).map(
      ([name, each]) => [name, medianRatio(each, times.wrong ?? [])] as const,
    );
    const differing = ratios.filter(([, ratio]) => Math.abs(ratio - 1) > TOLERANCE);
    expect([ratios, differing]).toEqual([ratios, []]);
  });
});
