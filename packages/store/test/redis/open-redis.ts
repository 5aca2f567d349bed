import { createHash } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { afterAll } from '@jest/globals';
import { createStore, type Store } from '../../src/index.ts';
import { redisAccessRule } from '../../src/redis/redis-scripts.ts';
import type { StoreRoom } from '../../src/store.ts';

export const password = 'the-store-of-a-test';
const endings: (() => Promise<unknown>)[] = [];

/** Ends what the tests of this file opened, the newest first. */
export const endAfterTests = (end: () => Promise<unknown>) => endings.push(end);

afterAll(async () => {
  for (const end of endings.toReversed()) {
    await end();
  }
});

export interface OpenedStore {
  readonly store: Store;
  readonly changes: (readonly [state: string, reason: string | undefined])[];
  readonly warnings: string[];
  readonly rooms: StoreRoom[];
}

/** Opens a store that records what it reports. */
export function openStore(url: string): OpenedStore {
  const opened = { changes: [], warnings: [], rooms: [] } as Omit<OpenedStore, 'store'>;
  const store = createStore(url, {
    onStateChange: (...change) => opened.changes.push(change),
    onWarning: (message) => opened.warnings.push(message),
    onRoom: (room) => opened.rooms.push(room),
  });
  endAfterTests(() => store.close());
  return { store, ...opened };
}

/** Starts a Redis with these command line options, and opens a store on it. */
export async function openRedis(
  ...options: readonly string[]
): Promise<OpenedStore & { readonly redis: RedisServer }> {
  const redis = await startRedisServer({ arguments: options });
  endAfterTests(() => redis.stop());
  return { redis, ...openStore(redis.url) };
}

/** A Redis with users, as lines of an ACL file, and one for the store. `tester` may do anything. */
export async function startRedisWithUsers(
  users: readonly string[],
  { rights = redisAccessRule, more = [] as readonly string[] } = {},
) {
  const file = join(await mkdtemp(join(tmpdir(), 'gatehouse-acl-')), 'users.acl');
  const digest = createHash('sha256').update(password).digest('hex');
  const own = ['user tester on nopass ~* &* +@all', `user gatehouse ${rights} #${digest}`];
  await writeFile(file, `${[...users, ...own].join('\n')}\n`);
  const redis = await startRedisServer({
    username: 'tester',
    password: 'any',
    arguments: ['--aclfile', file, ...more],
  });
  return { redis, url: `redis://gatehouse:${password}@127.0.0.1:${redis.port}`, stop: redis.stop };
}
