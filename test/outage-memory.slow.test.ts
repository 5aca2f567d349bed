// requires: redis-server
// runs alone: it measures memory
/**
 * An outage of the store for a minute leaks no memory. The heap is limited as
 * docs/operations/deploy.md recommends. Without a limit, V8 collects garbage so late that it would
 * hide a leak.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { basic, manyUsers, startRedisServer, userClient } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';

const USERS = 50;
const WINDOW_SECONDS = 10;
const MOST_WINDOWS = 15;
const SETTLED_MEBIBYTES = 3;
const OUTAGE_SECONDS = 60;
const AFTERWARDS_SECONDS = 35;
const MOST_MEBIBYTES = 50;
/** A busy machine serves fewer requests instead of accumulating them. */
const MOST_IN_FLIGHT = 200;

const redis = await startRedisServer();
const system = await startSystem({
  engine: { storeUrl: redis.url, storedText: async () => '', stop: redis.stop },
  bootstrap: manyUsers(USERS),
  environment: {
    LOG_LEVEL: 'info',
    TRUSTED_PROXIES: '127.0.0.1,::1',
    NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=256',
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '1048576',
  },
});

/** Each user has a client and an address, because limits are counted by both. */
type Call = (index: number, round: number) => Promise<Response>;

const requestToken: Call = (index, round) => {
  const { client, address } = userClient(index);
  const authorization = basic(client.clientId, client.secureKey);
  return fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization, 'X-Forwarded-For': address(round) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
};

const beginSignIn: Call = (index, round) => {
  const { client, redirectUri, address } = userClient(index);
  const query = `response_type=code&client_id=${client.clientId}&redirect_uri=${redirectUri}`;
  return fetch(`${system.authorizationServerUrl}/authorize?${query}`, {
    headers: { 'X-Forwarded-For': address(round) },
    redirect: 'manual',
  });
};

const callAuthorizationServer: Call = (index, round) =>
  round % 2 === 0 ? requestToken(index, round) : beginSignIn(index, round);

async function gatewayCalls(): Promise<Call> {
  const tokens = await Promise.all(
    Array.from({ length: USERS }, async (_, index) => {
      const reply = (await (await requestToken(index, 0)).json()) as { access_token: string };
      return reply.access_token;
    }),
  );
  return (index, round) =>
    fetch(`${system.gatewayUrl}/api/device?pageSize=1`, {
      headers: {
        authorization: `Bearer ${tokens[index]}`,
        'X-Forwarded-For': userClient(index).address(round),
      },
    });
}

/** A connection that breaks counts as status 0. */
const statusOf = (sent: Promise<Response>) =>
  sent
    .then(async (reply) => {
      await reply.arrayBuffer();
      return reply.status;
    })
    .catch(() => 0);

/** Sends this many calls per second until it is stopped, and counts the replies by status. */
function startLoad(perSecond: number, call: Call) {
  const statuses = new Map<number, number>();
  let inFlight = 0;
  let isStopped = false;
  let calls = 0;
  const running = (async () => {
    const startedAt = performance.now();
    for (let due = 0; !isStopped; due = ((performance.now() - startedAt) / 1000) * perSecond) {
      while (calls < due && inFlight < MOST_IN_FLIGHT) {
        inFlight += 1;
        const sent = call(calls % USERS, Math.floor(calls / USERS));
        void statusOf(sent).then((status) => {
          inFlight -= 1;
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        });
        calls += 1;
      }
      calls = Math.max(calls, Math.floor(due));
      await sleep(5);
    }
  })();
  return {
    statuses,
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
}

function residentMebibytes(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1024;
}

async function largestWithin(pid: number, seconds: number): Promise<number> {
  let largest = 0;
  for (let second = 0; second < seconds; second += 1) {
    await sleep(1000);
    largest = Math.max(largest, residentMebibytes(pid));
  }
  return largest;
}

/** The process grows until V8's spaces fit the load, which takes longer on a busy machine. */
async function settled(pid: number): Promise<number> {
  let before = await largestWithin(pid, WINDOW_SECONDS);
  for (let window = 0; window < MOST_WINDOWS; window += 1) {
    const now = await largestWithin(pid, WINDOW_SECONDS);
    if (now - before < SETTLED_MEBIBYTES) {
      return now;
    }
    before = now;
  }
  throw new Error('Memory grows without an outage.');
}

test('memory of both servers stays bounded for a minute without the store', async () => {
  const loads = [startLoad(250, callAuthorizationServer), startLoad(500, await gatewayCalls())];
  const processes = (['authorization-server', 'gateway'] as const).map(
    (app) => system.member(app).process.pid,
  );
  const before = await Promise.all(processes.map(settled));
  redis.freeze();
  const during = await Promise.all(processes.map((pid) => largestWithin(pid, OUTAGE_SECONDS)));
  redis.thaw();
  for (const { statuses } of loads) {
    expect(statuses.get(503)).toBeGreaterThan(1000);
  }
  await sleep(AFTERWARDS_SECONDS * 1000);
  const after = processes.map(residentMebibytes);
  await Promise.all(loads.map((load) => load.stop()));

  for (const [index, mebibytes] of before.entries()) {
    expect((during[index] ?? 0) - mebibytes).toBeLessThan(MOST_MEBIBYTES);
    expect((after[index] ?? 0) - mebibytes).toBeLessThan(MOST_MEBIBYTES);
  }
}, 360_000);
