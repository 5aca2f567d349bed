// requires: redis-server
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisAccessRule } from '../../src/redis/redis-scripts.ts';
import { describeStoreContract } from '../contract/store-contract.ts';

const password = 'the-store-of-a-test';

/**
 * A Redis with a user for the store, a user that may only send PING, and a disabled default user.
 */
async function startRestrictedRedis() {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-acl-'));
  const file = join(directory, 'users.acl');
  const digest = createHash('sha256').update(password).digest('hex');
  const users = [
    'user default off ~* &* +@all',
    'user health on nopass resetchannels resetkeys -@all +ping',
    `user gatehouse ${redisAccessRule} #${digest}`,
  ];
  await writeFile(file, `${users.join('\n')}\n`);
  const server = await startRedisServer({
    username: 'health',
    password: 'none',
    arguments: ['--aclfile', file],
  });
  return {
    url: `redis://gatehouse:${password}@127.0.0.1:${server.port}`,
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}

describeStoreContract('Redis with only the rights that the store needs', startRestrictedRedis);

describe('the user of the store', () => {
  let server: Awaited<ReturnType<typeof startRestrictedRedis>>;
  let user: Redis;

  beforeAll(async () => {
    server = await startRestrictedRedis();
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
