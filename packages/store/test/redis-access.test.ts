// requires: redis-server
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisAccessRule } from '../src/redis-access.ts';
import { describeStoreContract } from '../src/store-contract.ts';

const password = 'the-store-of-a-test';

/** Redis as the containers run it: a user for the store, and a default user that may ask whether it lives. */
async function startRestrictedRedis() {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-acl-'));
  const file = join(directory, 'users.acl');
  const digest = createHash('sha256').update(password).digest('hex');
  const users = [
    'user default on nopass resetchannels resetkeys -@all +ping',
    `user gatehouse ${redisAccessRule} #${digest}`,
  ];
  await writeFile(file, `${users.join('\n')}\n`);
  const server = await startRedisServer({ arguments: ['--aclfile', file] });
  return {
    url: `redis://gatehouse:${password}@127.0.0.1:${server.port}`,
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}

describeStoreContract('Redis with the rights of the containers', startRestrictedRedis);

describe('the user of the store', () => {
  let server: Awaited<ReturnType<typeof startRestrictedRedis>>;
  let user: Redis;
  let stranger: Redis;

  beforeAll(async () => {
    server = await startRestrictedRedis();
    user = new Redis(server.url, { maxRetriesPerRequest: 0 });
    stranger = new Redis(server.url.replace(`gatehouse:${password}@`, ''), {
      enableReadyCheck: false,
      disableClientInfo: true,
      maxRetriesPerRequest: 0,
    });
    await user.set('key', 'value');
  });
  afterAll(async () => {
    user.disconnect();
    stranger.disconnect();
    await server.stop();
  });

  it.each([
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
      /NOPERM|not allowed|can't run this command/,
    );
    await expect(user.get('key')).resolves.toBe('value');
  });

  it.each([
    ['GET', 'key'],
    ['SET', 'key', 'other'],
    ['FLUSHALL'],
    ['INFO'],
    ['EVAL', 'return 1', '0'],
  ])('is not needed to ask whether Redis lives, but for %s %s', async (command, ...words) => {
    await expect(stranger.ping()).resolves.toBe('PONG');
    await expect(stranger.call(command, ...words)).rejects.toThrow(/NOPERM/);
  });
});
