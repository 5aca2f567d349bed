// requires: redis-server
// runs alone: it compares times

import { accountLimit } from '@gatehouse/identity';
import { medianRatio } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { blocked, full, installation } from './installation.ts';
import { as, startOnEngines, type User } from './server.ts';

const SAMPLES = 24;
/** The server locks an account after this many failures. */
const SAMPLES_PER_ACCOUNT = accountLimit.attempts - 1;
/** Generous, because other processes share the machine. A missing hash takes 90 % less time. */
const TOLERANCE = 0.5;

const accounts = Array.from({ length: Math.ceil(SAMPLES / SAMPLES_PER_ACCOUNT) }, (_, i) => i);
const locked = { username: 'locked', password: 'a password of locked' };
const wrong = 'a wrong password';
const systems = await startOnEngines({
  environment: { TRUSTED_PROXIES: '127.0.0.1, ::1' },
  bootstrap: {
    ...installation,
    users: [
      ...accounts.flatMap((i) => [
        { username: `known-${i}`, password: 'a password', name: 'Known', orgId: 'org-1' },
        { ...blocked, username: `off-${i}`, name: 'Off', orgId: 'org-1', enabled: false },
      ]),
      { ...locked, name: 'Locked', orgId: 'org-1' },
    ],
  },
});

describe.each(systems)('on $engine', ({ system: { first } }) => {
  let requests = 0;
  async function refuse(user: User): Promise<number> {
    requests += 1;
    const headers = { ...as(full), 'x-forwarded-for': `192.0.2.${requests % 250}` };
    const started = performance.now();
    const { status } = await first.token({ grant_type: 'password', ...user }, headers);
    expect(status).toBe(400);
    return performance.now() - started;
  }

  test('the time of a rejected sign-in is equal for unknown, wrong, disabled and locked', async () => {
    for (let i = 0; i < accountLimit.attempts; i += 1) {
      await refuse({ ...locked, password: wrong });
    }
    const users: Readonly<Record<string, (account: number) => User>> = {
      wrong: (account) => ({ username: `known-${account}`, password: wrong }),
      unknown: (account) => ({ username: `unknown-${account}`, password: wrong }),
      disabled: (account) => ({ ...blocked, username: `off-${account}` }),
      locked: () => locked,
    };
    const times: Record<string, number[]> = {};
    for (let i = 0; i < SAMPLES; i += 1) {
      for (const [name, userOf] of Object.entries(users)) {
        const time = await refuse(userOf(Math.floor(i / SAMPLES_PER_ACCOUNT)));
        times[name] = [...(times[name] ?? []), time];
      }
    }
    const ratios = Object.entries(times).map(
      ([name, each]) => [name, medianRatio(each, times.wrong ?? [])] as const,
    );
    const differing = ratios.filter(([, ratio]) => Math.abs(ratio - 1) > TOLERANCE);
    expect([ratios, differing]).toEqual([ratios, []]);
  });
});
