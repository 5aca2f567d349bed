import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from './redis-server.ts';

/** Both engines always: `describe.each(storeEngines)`. */
export const storeEngines = ['sqlite', 'redis'] as const;

export type StoreEngineName = (typeof storeEngines)[number];

export interface StoreEngine {
  readonly storeUrl: string;
  stop(): Promise<void>;
}

/** A store of its own for one suite: a SQLite file, or a redis-server. */
export async function startStoreEngine(name: StoreEngineName): Promise<StoreEngine> {
  if (name === 'redis') {
    const redis = await startRedisServer();
    return { storeUrl: redis.url, stop: () => redis.stop() };
  }
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-store-'));
  return {
    storeUrl: `sqlite:${join(directory, 'store.sqlite')}`,
    stop: () => rm(directory, { recursive: true, force: true }),
  };
}
