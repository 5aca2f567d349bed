import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from './redis-server.ts';

/** Both engines always: `describe.each(storeEngines)`. */
export const storeEngines = ['sqlite', 'redis'] as const;

export type StoreEngineName = (typeof storeEngines)[number];

export interface StoreEngine {
  readonly storeUrl: string;
  /** Every byte the engine holds, as text: to look for what must not be readable in it. */
  storedText(): Promise<string>;
  stop(): Promise<void>;
}

/** A store of its own for one suite: a SQLite file, or a redis-server. */
export async function startStoreEngine(name: StoreEngineName): Promise<StoreEngine> {
  if (name === 'redis') {
    // The append-only file holds every command ever sent, also those whose keys are gone.
    const redis = await startRedisServer({ arguments: ['--appendonly', 'yes'] });
    return {
      storeUrl: redis.url,
      storedText: () => readAll(redis.directory),
      stop: () => redis.stop(),
    };
  }
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-store-'));
  return {
    storeUrl: `sqlite:${join(directory, 'store.sqlite')}`,
    storedText: () => readAll(directory),
    stop: () => rm(directory, { recursive: true, force: true }),
  };
}

async function readAll(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const contents = files.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1'));
  return (await Promise.all(contents)).join('\n');
}
