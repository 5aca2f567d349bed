// requires: redis-server
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { NEVER_EXPIRES, StoreUnavailableError } from '../../src/index.ts';
import { redisAccessRule } from '../../src/redis/redis-scripts.ts';
import { endAfterTests, openStore, password, startRedisWithUsers } from './open-redis.ts';

interface Users {
  /** The rights of the user as whom Redis loads its append-only file. */
  readonly default: string;
  readonly store?: string;
  readonly appendOnly?: 'yes' | 'no';
}

async function start(users: Users) {
  const started = await startRedisWithUsers([`user default ${users.default}`], {
    ...(users.store && { rights: users.store }),
    more: ['--appendonly', users.appendOnly ?? 'yes'],
  });
  endAfterTests(() => started.stop());
  return { redis: started.redis, ...openStore(started.url) };
}

/** The commands that the store's writes append to the file. */
const writes: readonly string[] = [
  ...['set', 'del', 'unlink', 'incrby', 'decr', 'pexpireat', 'persist', 'zadd', 'zrem'],
  ...['zremrangebyscore'],
];
const allow = (names: readonly string[]) => names.map((name) => `+${name}`).join(' ');

describe('a Redis that would drop writes when it loads its append-only file', () => {
  test.concurrent.each([
    ['only PING', 'on nopass resetkeys -@all +ping', 'SET'],
    ['only some keys', 'on nopass ~other:* +@all', 'SET'],
    ['only reads', 'on nopass ~* -@all +@read', 'SET'],
    ['nothing', 'off', 'SET'],
  ])(
    'receives no writes if its default user may use %s, and reports what to change',
    async (_name, rights, command) => {
      const { redis, store, changes } = await start({ default: rights });
      const failure = await store.claim('used-code', 'first', 60).catch((error) => error);
      expect(failure).toBeInstanceOf(StoreUnavailableError);
      await until(() => changes.length > 0);
      const reason = `its user default may not run ${command} on every key. Give this user ~* and +@all`;
      expect(changes).toEqual([['unavailable', expect.stringContaining(reason)]]);
      expect(await redis.command('DBSIZE')).toBe(':0\r\n');
      expect(JSON.stringify(changes)).not.toContain(password);
    },
  );

  test.concurrent('works as soon as the user has its rights', async () => {
    const { redis, store, changes, warnings } = await start({ default: 'off' });
    await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailableError);
    await redis.command('ACL', 'SETUSER', 'default', '~*', '+@all');
    await until(() => store.ping());
    expect(changes.at(-1)).toEqual(['available', undefined]);
    expect(warnings).toEqual([]);
  });
});

describe('a Redis that loses no writes', () => {
  test.concurrent.each([
    ['all rights and a random password', `on ~* +@all #${'0'.repeat(64)}`],
    ['all rights and is disabled', 'off ~* +@all'],
    ['only the rights that the check requires', `off ~* -@all ${allow(writes)}`],
  ])(
    'is used, and keeps all data after a restart, if its default user has %s',
    async (_name, rights) => {
      const { redis, store, warnings } = await start({ default: rights });
      await until(() => store.ping());
      const later = Date.now() + 600_000;
      for (let round = 0; round < 3; round += 1) {
        await store.increment('counter', 600);
        await store.addToIndex('index', `member-${round}`, round === 1 ? Date.now() + 1 : later);
        await store.addToIndex('index', 'lasting', NEVER_EXPIRES);
        await store.append('log', [`entry-${round}`], 2);
        await store.increment('short', 1);
        await sleep(10);
      }
      await store.removeFromIndex('index', 'member-0');
      await store.removeFromIndex('index', 'lasting');
      await store.addToIndex('index', 'member-3', later);
      await store.decrement('counter');
      await store.set('value', 'one');
      await store.delete(['value']);
      while ((await store.increment('short', 60, 0)).count > 0) {
        await sleep(50);
      }
      await store.increment('short', 600);
      await redis.restart();
      await until(() => store.ping());
      const counter = await store.increment('counter', 600, 0);
      expect(counter).toMatchObject({ count: 2 });
      expect(counter.resetsAt - Date.now()).toBeGreaterThan(500_000);
      expect(await store.increment('short', 60, 0)).toMatchObject({ count: 1 });
      expect(await store.members('index')).toEqual(['member-2', 'member-3']);
      expect(await store.read('log', 10)).toEqual(['entry-2', 'entry-1']);
      expect(await store.get('value')).toBeUndefined();
      expect(warnings).toEqual([]);
    },
  );

  test.concurrent('is used without an append-only file, even if its default user has no rights', async () => {
    const { store, changes, warnings } = await start({ default: 'off', appendOnly: 'no' });
    await store.ping();
    expect(changes).toEqual([]);
    expect(warnings.join()).not.toContain('default');
  });
});

test.concurrent('a Redis that rejects ACL DRYRUN is used, with one warning about what to check', async () => {
  const mute = redisAccessRule.replace(' +acl|dryrun', '');
  expect(mute).not.toBe(redisAccessRule);
  const { redis, store, warnings } = await start({ default: 'off', store: mute });
  await store.ping();
  await redis.restart();
  await until(() => store.ping());
  expect(warnings).toEqual([expect.stringContaining('+acl|dryrun')]);
});
