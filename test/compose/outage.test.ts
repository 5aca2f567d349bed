import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDevice, registerUsers, requestToken, sign, type Users } from './clients.ts';
import { createTier, docker, serviceOf, type Tier } from './tier.ts';

const DEADLINE_MILLISECONDS = 60_000;
/**
 * Long enough for requests to meet an outage, and for patience with a lost connection to be over.
 */
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
afterAll(() => tier.remove(), 60_000);

/** The status of one call of each kind; 0 where the connection broke. */
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

/** @returns every status that came on the way, by probe */
async function becomesWhole(): Promise<Record<Probe, Set<number>>> {
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
      throw new Error(`Not whole again: ${JSON.stringify(now)}`);
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

/** The only replies during an outage: no 401, no 404, no wrong 2xx. */
const away: Readonly<Record<string, Readonly<Partial<Record<Probe, readonly number[]>>>>> = {
  redis: { bearer: [503], signed: [503], token: [503] },
  postgres: { bearer: [502, 503], signed: [502, 503] },
  'device-service': { bearer: [502, 503], signed: [502, 503] },
  gateway: { bearer: [503], signed: [503] },
  'authorization-server': { token: [503] },
};

describe.each(Object.entries(away))('without %s', (service, answers) => {
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
    // Docker takes its own kill for an operator's wish; only the one container is started, nothing
    // else is touched.
    await docker('start', (await containerOf(service)).Id);
    await becomesWhole();
  }, 180_000);
});

describe.each([...Object.keys(away), 'nginx'])('%s that crashes', (service) => {
  test('restarts by itself, and no caller gets a wrong reply meanwhile', async () => {
    const before = await containerOf(service);
    // Everything but init, as a crash takes it: the restart policy answers that, and not `docker
    // kill`.
    await tier.compose('exec', '-T', service, 'sh', '-c', 'kill -9 -1').catch(() => undefined);
    const seen = await becomesWhole();
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
