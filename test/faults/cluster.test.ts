// requires: redis-server openssl
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClusterTopology, startClusterTopology } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { expectSurvival } from './expect-survival.ts';
import { makeSecurity, type Security } from './security.ts';
import { startTier, type Tier } from './tier.ts';

let security: Security;
let redis: ClusterTopology;
let tier: Tier;

beforeAll(async () => {
  security = makeSecurity();
  redis = await startClusterTopology({ security });
  tier = await startTier(redis.storeUrl, security.environment);
});

afterAll(async () => {
  await tier?.stop();
  await redis?.stop();
  security.remove();
});

describe('a tier over a cluster of three masters with a replica each, with TLS and users', () => {
  test('survives a master that is killed', async () => {
    await redis.settled();
    const { server } = await redis.masterOf(0);
    await expectSurvival('Cluster, kill', tier, {
      begin: () => server.kill(),
      repair: () => server.restart(),
      recoversWithinMilliseconds: 5000,
    });
  }, 240_000);

  test('survives a failover that an operator starts', async () => {
    await redis.settled();
    const [replica] = await redis.replicasOf(await redis.masterOf(8000));
    await expectSurvival('Cluster, failover', tier, {
      begin: () => replica?.server.command('CLUSTER', 'FAILOVER'),
      recoversWithinMilliseconds: 5000,
    });
  }, 240_000);

  test('survives a master that freezes and resumes', async () => {
    await redis.settled();
    const { server } = await redis.masterOf(16_000);
    await expectSurvival('Cluster, freeze', tier, {
      begin: () => server.freeze(),
      repair: () => server.thaw(),
      recoversWithinMilliseconds: 8000,
    });
  }, 240_000);

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
  }, 240_000);
});
