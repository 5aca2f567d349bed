// requires: redis-server openssl
import { setTimeout as sleep } from 'node:timers/promises';
import { startSentinelTopology } from '@gatehouse/testing';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { expectSurvival } from './expect-survival.ts';
import { makeSecurity, startTier } from './tier.ts';

jest.setTimeout(240_000);
const security = makeSecurity();
const redis = await startSentinelTopology({ security });
const tier = await startTier(redis.storeUrl, security);
afterAll(redis.stop);

function slow(milliseconds: number): void {
  for (const { proxy } of redis.nodes) {
    proxy?.delay('servers', milliseconds);
  }
}

/** Delays replication, so that a failover loses every unconfirmed write. */
async function holdBackReplication(): Promise<void> {
  slow(100);
  await sleep(1500);
}

describe('a tier over a master, two replicas and three Sentinels, with TLS and users', () => {
  test('survives a master that is killed before it replicated its last writes', async () => {
    const { server, proxy } = await redis.settled();
    await expectSurvival('Sentinel, kill', tier, {
      begin: async () => {
        proxy?.cut('servers');
        await sleep(300);
        await server.kill();
        proxy?.heal();
      },
      repair: () => server.restart(),
      recoversWithinMilliseconds: 5000,
    });
  });

  test('survives a failover without a pause by an operator, while the master replicates slowly', async () => {
    const before = await redis.settled();
    await expectSurvival('Sentinel, failover', tier, {
      prepare: holdBackReplication,
      begin: () => redis.fail(),
      repair: () => slow(0),
      recoversWithinMilliseconds: 5000,
    });
    expect(await redis.master()).not.toBe(before);
  });

  test('survives a master that freezes and resumes', async () => {
    const { server } = await redis.settled();
    await expectSurvival('Sentinel, freeze', tier, {
      begin: () => server.freeze(),
      repair: () => server.thaw(),
      recoversWithinMilliseconds: 8000,
    });
  });

  test('survives a master that is cut off from its replicas and the Sentinels, but not from the apps', async () => {
    const before = await redis.settled();
    await expectSurvival('Sentinel, partition', tier, {
      begin: () => before.proxy?.cut('servers'),
      repair: () => before.proxy?.heal(),
      recoversWithinMilliseconds: 8000,
    });
    expect(await redis.master()).not.toBe(before);
  });

  test('works with a slow network between the servers', async () => {
    await redis.settled();
    await expectSurvival('Sentinel, slow', tier, {
      begin: async () => {
        slow(20);
        await sleep(2000);
      },
      repair: () => slow(0),
      recoversWithinMilliseconds: 3000,
    });
  });

  test('shows no credential in its logs', async () => {
    expect(await tier.output()).not.toMatch(/gatehouse:the-store-of-a-test|"access_token"|Bearer /);
  });
});
