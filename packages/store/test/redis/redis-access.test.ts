// requires: redis-server
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { describeStoreContract } from '../contract/store-contract.ts';
import { startRedisWithUsers } from './open-redis.ts';

const start = () => startRedisWithUsers(['user default off ~* &* +@all']);

describeStoreContract('Redis', start);

describe('the user of the store', () => {
  let server: Awaited<ReturnType<typeof start>>;
  let user: Redis;

  beforeAll(async () => {
    server = await start();
    user = new Redis(server.url, { maxRetriesPerRequest: 0 });
    await user.set('key', 'value');
  });
  afterAll(async () => {
    user.disconnect();
    await server.stop();
  });

  test.each([
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['CONFIG', 'GET', '*'],
    ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'],
    ['KEYS', '*'],
    ['SCAN', '0'],
    ['RANDOMKEY'],
    ['ACL', 'LIST'],
    ['MONITOR'],
    ['DEBUG', 'SLEEP', '0'],
    ['SAVE'],
    ['SHUTDOWN', 'NOSAVE'],
    ['REPLICAOF', 'example.org', '6379'],
    ['MODULE', 'LIST'],
    ['CLIENT', 'LIST'],
    ['SLOWLOG', 'GET'],
    ['DUMP', 'key'],
    ['RENAME', 'key', 'other'],
    ['PUBLISH', 'channel', 'message'],
    ['EVAL', "return redis.call('FLUSHALL')", '0'],
  ])('may not send %s %s', async (command, ...words) => {
    await expect(user.call(command, ...words)).rejects.toThrow(
      /NOPERM|not allowed|can't run this command|has no permissions/,
    );
    await expect(user.get('key')).resolves.toBe('value');
  });
});
