// requires: redis-server
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { expectSurvival } from './expect-survival.ts';
import { startTier, type Tier } from './tier.ts';

let redis: RedisServer;
let tier: Tier;

beforeAll(async () => {
  redis = await startRedisServer({ arguments: ['--appendonly', 'yes'] });
  tier = await startTier(redis.url);
});

afterAll(async () => {
  await tier?.stop();
  await redis?.stop();
});

describe('a tier over one Redis with an append-only file', () => {
  test('survives a Redis that is killed and restarted', async () => {
    await expectSurvival('Single, restart', tier, {
      begin: () => redis.kill(),
      repair: () => redis.restart(),
      lastsMilliseconds: 2000,
      recoversWithinMilliseconds: 2000,
    });
  }, 240_000);

  test('survives a Redis that freezes', async () => {
    await expectSurvival('Single, freeze', tier, {
      begin: () => redis.freeze(),
      repair: () => redis.thaw(),
      lastsMilliseconds: 3000,
      recoversWithinMilliseconds: 2000,
    });
  }, 240_000);

  test('survives a Redis that is full', async () => {
    await expectSurvival('Single, full', tier, {
      begin: () => redis.command('CONFIG', 'SET', 'maxmemory', '1'),
      repair: () => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
      lastsMilliseconds: 3000,
      recoversWithinMilliseconds: 2000,
    });
  }, 240_000);
});
