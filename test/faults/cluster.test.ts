// requires: redis-server openssl
import { setTimeout as sleep } from 'node:timers/promises';
import { startClusterTopology } from '@gatehouse/testing';
import { afterAll, describe, jest, test } from '@jest/globals';
import { expectSurvival } from './expect-survival.ts';
import { makeSecurity, startTier } from './tier.ts';

jest.setTimeout(240_000);
const security = makeSecurity();
const redis = await startClusterTopology({ security });
const tier = await startTier(redis.storeUrl, security);
afterAll(redis.stop);

describe('a tier over a cluster of three masters with a replica each, with TLS and users', () => {
  test('survives a master that is killed', async () => {
    await redis.settled();
    const { server } = await redis.masterOf(0);
    await expectSurvival('Cluster, kill', tier, {
      begin: () => server.kill(),
      repair: () => server.restart(),
      recoversWithinMilliseconds: 5000,
    });
  });

  test('survives a failover that an operator starts', async () => {
    await redis.settled();
    const [replica] = await redis.replicasOf(await redis.masterOf(8000));
    await expectSurvival('Cluster, failover', tier, {
      begin: () => replica?.server.command('CLUSTER', 'FAILOVER'),
      recoversWithinMilliseconds: 5000,
    });
  });

  test('survives a master that freezes and resumes', async () => {
    await redis.settled();
    const { server } = await redis.masterOf(16_000);
    await expectSurvival('Cluster, freeze', tier, {
      begin: () => server.freeze(),
      repair: () => server.thaw(),
      recoversWithinMilliseconds: 8000,
    });
  });

  test('survives slots that move to another master with their keys', async () => {
    await redis.settled();
    const from = await redis.masterOf(0);
    const to = await redis.masterOf(8000);
    await expectSurvival('Cluster, reshard', tier, {
      begin: async () => {
        await redis.reshard(
          from,
          to,
          Array.from({ length: 100 }, (_, slot) => slot),
        );
        await sleep(1000);
      },
      recoversWithinMilliseconds: 8000,
    });
  });
});
