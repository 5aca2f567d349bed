// requires: redis-server
// runs alone: it has deadlines of seconds under load
/** Simulates an upgrade under load: every process is restarted once, and no user notices. */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AppName,
  type Constellation,
  createVirtualUser,
  freePort,
  type LoadBalancer,
  manyUsers,
  startConstellation,
  startLoadBalancer,
  userClient,
  type VirtualUser,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

/** While one server restarts, the other verifies all passwords, at most 17 at once for each core. */
const USERS = Math.min(20, 12 * availableParallelism());

describe.each([1, 2])('with WORKERS=%i', (workers) => {
  let system: Constellation;
  let balancers: Readonly<Record<'authorization-server' | 'gateway', LoadBalancer>>;

  beforeAll(async () => {
    const [issuerPort, gatewayPort] = [await freePort(), await freePort()];
    system = await startConstellation({
      engine: 'redis',
      bootstrap: manyUsers(USERS),
      apps: [
        ...(['authorization-server', 'authorization-server'] as const),
        ...(['gateway', 'gateway', 'device-service'] as const),
      ],
      environment: {
        AUTHORIZATION_SERVER_URL: `http://localhost:${issuerPort}`,
        GATEWAY_URL: `http://localhost:${gatewayPort}`,
        SHUTDOWN_DELAY_SECONDS: '1',
        TRUSTED_PROXIES: '127.0.0.1,::1',
        LOG_LEVEL: 'warn',
        WORKERS: String(workers),
      },
    });
    const balance = (app: AppName, port: number) =>
      startLoadBalancer({ port, backends: system.members.filter((member) => member.app === app) });
    balancers = {
      'authorization-server': await balance('authorization-server', issuerPort),
      gateway: await balance('gateway', gatewayPort),
    };
  });

  afterAll(async () => {
    await Promise.all(Object.values(balancers).map((balancer) => balancer.close()));
    await system.stop();
  });

  test('a rolling restart of two authorization servers and two gateways fails no request of 20 users', async () => {
    const users = Array.from({ length: USERS }, (_value, i) =>
      createVirtualUser({
        ...userClient(i),
        authorizationServerUrl: balancers['authorization-server'].url,
        gatewayUrl: balancers.gateway.url,
      }),
    );
    let restarting = true;
    const use = async (user: VirtualUser) => {
      do {
        await user.round();
      } while (restarting);
    };
    const using = users.map(use);
    for (const member of system.members.filter(({ app }) => app !== 'device-service')) {
      await sleep(3000);
      const started = performance.now();
      expect(await member.process.stop()).toBe(0);
      expect(performance.now() - started).toBeLessThan(10_000);
      await member.start();
    }
    restarting = false;
    await Promise.all(using);

    const disappointments = users.flatMap((user) => user.disappointments);
    const requests = users.reduce((sum, user) => sum + user.requests, 0);
    process.stdout.write(
      `${requests} requests of ${USERS} users during four restarts, WORKERS=${workers}\n`,
    );
    expect(Object.values(balancers).flatMap(({ failures }) => failures)).toEqual([]);
    expect(disappointments).toEqual([]);
    expect(requests).toBeGreaterThan(USERS * 20);
  }, 300_000);
});
