// requires: redis-server
// runs alone: it has deadlines of seconds under load
/** Simulates an upgrade under load: every process is restarted once, and no user notices. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createVirtualUser, manyUsers, startBalancedSystem, userClient } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';

/** One worker of the other server may get all of them, and holds 17 passwords at once. */
const USERS = 16;

test('a rolling restart of two authorization servers and two gateways with workers fails no request', async () => {
  const { system, failures, stop, ...urls } = await startBalancedSystem({
    engine: 'redis',
    bootstrap: manyUsers(USERS),
    environment: { SHUTDOWN_DELAY_SECONDS: '1', LOG_LEVEL: 'warn', WORKERS: '2' },
  });
  const users = Array.from({ length: USERS }, (_, i) =>
    createVirtualUser({ ...userClient(i), ...urls }),
  );
  let restarting = true;
  const using = users.map(async (user) => {
    do {
      await user.round();
    } while (restarting);
  });
  try {
    for (const member of system.members.filter(({ app }) => app !== 'device-service')) {
      await sleep(3000);
      expect(await member.process.stop()).toBe(0);
      await member.start();
    }
  } finally {
    restarting = false;
    await Promise.all(using);
    await stop();
  }
  expect(failures()).toEqual([]);
  expect(users.flatMap(({ disappointments }) => disappointments)).toEqual([]);
  expect(users.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThan(USERS * 20);
}, 300_000);
