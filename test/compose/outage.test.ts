import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDevice, registerUsers, requestToken, sign, type Users } from './clients.ts';
import { createTier, docker, serviceOf, type Tier } from './tier.ts';

const DEADLINE_MILLISECONDS = 60_000;
/** Longer than the time for which requests wait for a lost connection. */
const OUTAGE_MILLISECONDS = 3000;

let tier: Tier;
let users: Users;
let token: string;

beforeAll(async () => {
  tier = await createTier({ environment: { ADDRESS_RATE_LIMIT: '100000/60' } });
  await tier.up();
  users = await registerUsers(tier);
  await createDevice(tier, users.web, 'pump-1');
  const { body } = await requestToken(tier, users.web, { grant_type: 'client_credentials' });
  token = body.access_token ?? '';
}, 180_000);
afterAll(() => tier.remove());

/** The status of one call of each kind, or 0 if the connection broke. */
const probes = {
  bearer: () => statusOf(`${tier.gatewayUrl}/api/device`, { authorization: `Bearer ${token}` }),
  signed: () => {
    const query = 'pageIndex=0&pageSize=5';
    return statusOf(`${tier.gatewayUrl}/api/device?${query}`, sign(users.web, query));
  },
  token: () =>
    requestToken(tier, users.web, { grant_type: 'client_credentials' }).then(
      ({ status }) => status,
      () => 0,
    ),
} as const;
type Probe = keyof typeof probes;

function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return fetch(url, { headers, signal: AbortSignal.timeout(20_000) }).then(
    async (reply) => {
      await reply.arrayBuffer();
      return reply.status;
    },
    () => 0,
  );
}

async function statuses(): Promise<Record<Probe, number>> {
  const [bearer, signed, issued] = await Promise.all([
    probes.bearer(),
    probes.signed(),
    probes.token(),
  ]);
  return { bearer, signed, token: issued };
}

const whole = { bearer: 200, signed: 200, token: 200 };

/** @returns every status that occurred until all probes succeeded */
async function untilRecovered(): Promise<Record<Probe, Set<number>>> {
  const seen = { bearer: new Set<number>(), signed: new Set<number>(), token: new Set<number>() };
  const begun = performance.now();
  for (;;) {
    const now = await statuses();
    for (const probe of Object.keys(seen) as Probe[]) {
      seen[probe].add(now[probe]);
    }
    if (Object.values(now).every((status) => status === 200)) {
      return seen;
    }
    if (performance.now() - begun > DEADLINE_MILLISECONDS) {
      throw new Error(`Not recovered: ${JSON.stringify(now)}`);
    }
    await sleep(50);
  }
}

async function containerOf(service: string) {
  const found = (await tier.containers()).find((each) => serviceOf(each) === service);
  if (found === undefined) {
    throw new Error(`There is no container of ${service}.`);
  }
  return found;
}

/** The only replies during an outage. There is no 401, no 404 and no wrong 2xx. */
const duringOutage: Readonly<Record<string, Readonly<Partial<Record<Probe, readonly number[]>>>>> =
  {
    redis: { bearer: [503], signed: [503], token: [503] },
    postgres: { bearer: [502, 503], signed: [502, 503] },
    'device-service': { bearer: [502, 503], signed: [502, 503] },
    gateway: { bearer: [503], signed: [503] },
    'authorization-server': { token: [503] },
  };

describe.each(Object.entries(duringOutage))('without %s', (service, answers) => {
  test('only requests that need it fail, and all succeed after it returns', async () => {
    expect(await statuses()).toEqual(whole);
    await docker('kill', (await containerOf(service)).Id);
    await sleep(OUTAGE_MILLISECONDS);
    const during = await statuses();
    for (const probe of Object.keys(probes) as Probe[]) {
      expect([probe, answers[probe] ?? [200]]).toEqual([
        probe,
        expect.arrayContaining([during[probe]]),
      ]);
    }
    // Docker treats `docker kill` as a stop by the operator. Only this container is started again.
    await docker('start', (await containerOf(service)).Id);
    await untilRecovered();
  }, 180_000);
});

test('up --wait succeeds right after an outage of Redis of a minute', async () => {
  const healthOf = async () => (await containerOf('gateway')).State.Health;
  while ((await healthOf())?.Status !== 'healthy') {
    await sleep(250);
  }
  await tier.compose('stop', 'redis');
  // Twelve checks, at intervals of 5 s.
  while (((await healthOf())?.FailingStreak ?? 0) < 12) {
    await sleep(250);
  }
  await tier.up();
  expect(await statuses()).toEqual(whole);
}, 180_000);

describe.each([...Object.keys(duringOutage), 'nginx'])('%s that crashes', (service) => {
  test('restarts automatically, and no caller gets a wrong reply', async () => {
    const before = await containerOf(service);
    // Kills every process except init, like a crash. The restart policy applies to a crash, but not
    // to `docker kill`.
    await tier.compose('exec', '-T', service, 'sh', '-c', 'kill -9 -1').catch(() => undefined);
    const seen = await untilRecovered();
    for (;;) {
      const { RestartCount, State } = await containerOf(service);
      if (RestartCount > before.RestartCount && State.Health?.Status === 'healthy') {
        break;
      }
      await sleep(250);
    }
    expect(await statuses()).toEqual(whole);
    const allowed = new Set([200, 502, 503, ...(service === 'nginx' ? [0] : [])]);
    const wrong = Object.values(seen).flatMap((each) =>
      [...each].filter((one) => !allowed.has(one)),
    );
    expect(wrong).toEqual([]);
  }, 180_000);
});
