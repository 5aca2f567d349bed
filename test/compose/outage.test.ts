import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { expect, jest, test } from '@jest/globals';
import { sign, startTierInUse } from './clients.ts';
import { docker } from './tier.ts';

jest.setTimeout(180_000);

const DEADLINE_SECONDS = 60;
/** Longer than the time for which requests wait for a lost connection. */
const OUTAGE_MILLISECONDS = 3000;

const { tier, users, newToken, token } = await startTierInUse({
  environment: { ADDRESS_RATE_LIMIT: '100000/60' },
});
const accessToken = await newToken();
const query = 'pageIndex=0&pageSize=5';

const statusOf = async (path: string, headers: Readonly<Record<string, string>>) => {
  const signal = AbortSignal.timeout(20_000);
  const reply = await fetch(`${tier.gatewayUrl}${path}`, { headers, signal });
  await reply.arrayBuffer();
  return reply.status;
};
const probes = {
  bearer: () => statusOf('/api/device', { authorization: `Bearer ${accessToken}` }),
  signed: () => statusOf(`/api/device?${query}`, sign(users.web, query)),
  token: async () => (await token({ grant_type: 'client_credentials' })).status,
};
type Statuses = Readonly<Record<string, number>>;

/** The status of one call of each kind, or 0 if the connection broke. */
async function statuses(): Promise<Statuses> {
  const calls = Object.entries(probes).map(
    async ([name, call]) => [name, await call().catch(() => 0)] as const,
  );
  return Object.fromEntries(await Promise.all(calls));
}
const whole = { bearer: 200, signed: 200, token: 200 };

/** The only replies during an outage. There is no 401, no 404 and no wrong 2xx. */
const failed = [502, 503];
const duringOutage: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> = {
  redis: { bearer: [503], signed: [503], token: [503] },
  postgres: { bearer: failed, signed: failed },
  'device-service': { bearer: failed, signed: failed },
  gateway: { bearer: [503], signed: [503] },
  'authorization-server': { token: [503] },
};

test.each(Object.entries(duringOutage))(
  'without %s, only requests that need it fail, and all succeed after it returns',
  async (service, answers) => {
    expect(await statuses()).toEqual(whole);
    const { Id } = await tier.container(service);
    await docker('kill', Id);
    await sleep(OUTAGE_MILLISECONDS);
    for (const [name, status] of Object.entries(await statuses())) {
      expect([name, answers[name] ?? [200]]).toEqual([name, expect.arrayContaining([status])]);
    }
    // Docker treats `docker kill` as a stop by the operator. Only this container is started again.
    await docker('start', Id);
    await until(async () => expect(await statuses()).toEqual(whole), DEADLINE_SECONDS);
  },
);

test('up --wait succeeds right after an outage of Redis of a minute', async () => {
  const health = async () => (await tier.container('gateway')).State.Health;
  await until(async () => (await health())?.Status === 'healthy', DEADLINE_SECONDS);
  await tier.compose('stop', 'redis');
  // Twelve checks, at intervals of 5 s.
  await until(async () => ((await health())?.FailingStreak ?? 0) >= 12, 2 * DEADLINE_SECONDS);
  await tier.up();
  expect(await statuses()).toEqual(whole);
});

test.each([...Object.keys(duringOutage), 'nginx'])(
  'after a crash, %s restarts automatically, and no caller gets a wrong reply',
  async (service) => {
    const before = await tier.container(service);
    // Kills every process except init, like a crash. The restart policy applies to a crash, but not
    // to `docker kill`.
    await tier.exec(service, 'sh', '-c', 'kill -9 -1').catch(() => undefined);
    const seen = new Set<number>();
    await until(async () => {
      const now = Object.values(await statuses());
      for (const status of now) {
        seen.add(status);
      }
      return now.every((status) => status === 200);
    }, DEADLINE_SECONDS);
    await until(async () => {
      const { RestartCount, State } = await tier.container(service);
      return RestartCount > before.RestartCount && State.Health?.Status === 'healthy';
    }, DEADLINE_SECONDS);
    expect(await statuses()).toEqual(whole);
    const allowed = [200, ...failed, ...(service === 'nginx' ? [0] : [])];
    expect([...seen].filter((status) => !allowed.includes(status))).toEqual([]);
  },
);
