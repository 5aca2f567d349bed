// requires: redis-server
/** Ends a process under load, alone and as one of two behind a load balancer. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  basic,
  type Constellation,
  freePort,
  type LoadBalancer,
  type Member,
  startConstellation,
  startLoadBalancer,
} from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { oneClient } from './one-client.ts';

const secureKey = 'lifecycleKey0123456789';
const bootstrap = oneClient(secureKey);

let system: Constellation;
let balancer: LoadBalancer | undefined;

afterEach(async () => {
  await balancer?.close();
  balancer = undefined;
  await system.stop();
});

async function readToken(): Promise<string> {
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic('one', secureKey) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await reply.json()) as { access_token: string };
  return access_token;
}

const readiness = async (member: Member) => {
  const reply = await fetch(`${member.operationsUrl}/ready`, { headers: { Connection: 'close' } });
  return [reply.status, await reply.json()];
};

/** Starts a request every five milliseconds for this time, and returns the outcomes. */
async function ask200TimesASecond(seconds: number, url: string, token: string) {
  const replies: Promise<number>[] = [];
  const started = performance.now();
  while (performance.now() - started < seconds * 1000) {
    const due = ((performance.now() - started) / 1000) * 200;
    while (replies.length < due) {
      replies.push(
        fetch(url, { headers: { authorization: `Bearer ${token}` } }).then(
          async (reply) => {
            await reply.arrayBuffer();
            return reply.status;
          },
          () => 599,
        ),
      );
    }
    await sleep(5);
  }
  const statuses = await Promise.all(replies);
  return {
    asked: statuses.length,
    failed: statuses.filter((status) => status !== 200).length,
  };
}

async function stopInTime(member: Member): Promise<number | null> {
  const started = performance.now();
  const code = await member.process.stop();
  expect(performance.now() - started).toBeLessThan(20_000);
  return code;
}

describe('a process that receives a signal to end', () => {
  test('is immediately not ready, still replies during the shutdown delay, and exits cleanly', async () => {
    const environment = { SHUTDOWN_DELAY_SECONDS: '5' };
    system = await startConstellation({ engine: 'sqlite', bootstrap, environment });
    const { members } = system;
    for (const member of members) {
      expect(await readiness(member)).toMatchObject([200, { status: 'ready' }]);
    }
    const ends = members.map(stopInTime);
    await sleep(500);
    const checks = members.map(async (member) => {
      expect(await readiness(member)).toEqual([503, { status: 'draining' }]);
      const reply = await fetch(`${member.url}/nothing`);
      expect([401, 404]).toContain(reply.status);
      expect(reply.headers.get('connection')).toBe('close');
      expect((await fetch(`${member.operationsUrl}/live`)).status).toBe(200);
    });
    await Promise.all(checks);
    expect(await Promise.all(ends)).toEqual([0, 0, 0]);
  });
});

describe('one of two gateways restarts under 200 requests a second', () => {
  async function restartUnderLoad(looksAtReadiness: boolean) {
    const environment = {
      LOG_LEVEL: 'warn',
      SHUTDOWN_DELAY_SECONDS: looksAtReadiness ? '1' : '0',
    };
    const apps = ['authorization-server', 'gateway', 'gateway', 'device-service'] as const;
    const port = await freePort();
    system = await startConstellation({ engine: 'redis', bootstrap, apps, environment });
    const gateways = system.members.filter(({ app }) => app === 'gateway');
    const [first] = gateways;
    if (first === undefined) {
      throw new Error('No gateway runs.');
    }
    const backends = gateways.map(({ url, operationsUrl }) =>
      looksAtReadiness ? { url, operationsUrl } : { url },
    );
    balancer = await startLoadBalancer({ port, backends });
    const asking = ask200TimesASecond(5, `${balancer.url}/api/device`, await readToken());
    await sleep(1000);
    expect(await stopInTime(first)).toBe(0);
    await first.start();
    const outcome = await asking;
    expect(balancer.failures).toEqual([]);
    expect(outcome.failed).toBe(0);
    expect(outcome.asked).toBeGreaterThan(900);
  }

  test(
    'fails no request behind a load balancer that checks /ready',
    () => restartUnderLoad(true),
    60_000,
  );

  test(
    'fails no request behind a load balancer that retries on another gateway',
    () => restartUnderLoad(false),
    60_000,
  );
});
