// requires: redis-server
import { startRedisServer } from '@gatehouse/testing';
import { afterAll, describe, jest, test } from '@jest/globals';
import { expectSurvival } from './expect-survival.ts';
import { startTier } from './tier.ts';

jest.setTimeout(240_000);
const redis = await startRedisServer({ arguments: ['--appendonly', 'yes'] });
const tier = await startTier(redis.url);
afterAll(redis.stop);

describe('a tier over one Redis with an append-only file', () => {
  test('survives a Redis that is killed and restarted', async () => {
    await expectSurvival('Single, restart', tier, {
      begin: () => redis.kill(),
      repair: () => redis.restart(),
      lastsMilliseconds: 2000,
      recoversWithinMilliseconds: 2000,
    });
  });

  test('survives a Redis that freezes', async () => {
    await expectSurvival('Single, freeze', tier, {
      begin: () => redis.freeze(),
      repair: () => redis.thaw(),
      lastsMilliseconds: 3000,
      recoversWithinMilliseconds: 2000,
    });
  });

  test('survives a Redis that is full', async () => {
    await expectSurvival('Single, full', tier, {
      begin: () => redis.command('CONFIG', 'SET', 'maxmemory', '1'),
      repair: () => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
      lastsMilliseconds: 3000,
      recoversWithinMilliseconds: 2000,
    });
  });
});
