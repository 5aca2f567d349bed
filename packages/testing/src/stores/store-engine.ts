import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from './redis-server.ts';

/** Both engines, for the tests that prove an engine: `describe.each(storeEngines)`. */
export const storeEngines = ['sqlite', 'redis'] as const;

/** Set by `npm run test:nightly`, which also checks times and runs every test on both engines. */
export const isNightly = process.env.TEST_NIGHTLY === '1';

export type StoreEngineName = (typeof storeEngines)[number];

/** The engines for tests of what uses a store. */
export const integrationEngines: readonly StoreEngineName[] = isNightly ? storeEngines : ['sqlite'];

export interface StoreEngine {
  readonly storeUrl: string;
  /** All data of the engine as text, to search it for secrets. */
  storedText(): Promise<string>;
  stop(): Promise<void>;
}

/** A separate store for one suite: a SQLite file or a redis-server. */
export async function startStoreEngine(name: StoreEngineName): Promise<StoreEngine> {
  if (name === 'redis') {
    // The append-only file contains every command, also for deleted keys.
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
