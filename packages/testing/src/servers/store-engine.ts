import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { startRedisServer } from './redis-server.ts';

/** Both engines, for the tests that prove an engine: `describe.each(storeEngines)`. */
export const storeEngines = ['sqlite', 'redis'] as const;

/** Set by `npm run test:nightly`, which also checks times and runs every test on both engines. */
export const isNightly = process.env.TEST_NIGHTLY === '1';

/** How often a test repeats something: so often in the nightly, and a tenth of it otherwise. */
export const repetitions = (inNightly: number) => (isNightly ? inNightly : inNightly / 10);

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

/** Runs one operation of a store. `key` is its first argument. */
export type Around = (
  run: () => Promise<unknown>,
  operation: string,
  key: string,
) => Promise<unknown>;

/**
 * A store whose operations are delayed, counted or replaced by errors. An increment by 0 only reads,
 * so its operation is called `count`.
 */
export function wrappedStore<Store extends object>(store: Store, around: Around): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      return typeof member !== 'function'
        ? member
        : (...all: readonly unknown[]) => {
            const operation = name === 'increment' && all[2] === 0 ? 'count' : String(name);
            return around(() => member.apply(target, all), operation, String(all[0]));
          };
    },
  });
}

export interface StoredKey {
  readonly key: string;
  /** Bytes in the engine: the report of Redis with the expiry, or the row and indexes of SQLite. */
  readonly bytes: number;
}

/** Bytes that `MEMORY USAGE` omits: the entry of the expiry table and the slots of both tables. */
const REDIS_EXPIRY_BYTES = 64;
const REDIS_KEYS = `
  local lines = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    lines[#lines + 1] = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) .. ' ' .. key
  end
  return table.concat(lines, '\\n')`;
/** Bytes of the index pointers of a row, in addition to its columns and the copy of its key. */
const SQLITE_ROW_BYTES = 30;

/**
 * Lists the keys of a store, including expired keys that still exist. Redis requires `redis-cli`.
 */
export async function listStoredKeys(storeUrl: string): Promise<readonly StoredKey[]> {
  const keys = storeUrl.startsWith('sqlite:')
    ? listSqliteKeys(storeUrl.slice('sqlite:'.length))
    : await listRedisKeys(storeUrl);
  return keys.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

async function listRedisKeys(storeUrl: string): Promise<readonly StoredKey[]> {
  const parameters = ['-u', storeUrl, 'EVAL', REDIS_KEYS, '0'];
  const options = { maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)('redis-cli', parameters, options);
  const lines = stdout.trim().split('\n').filter(Boolean);
  return lines.map((line) => {
    const [bytes = '', ...key] = line.split(' ');
    return { key: key.join(' '), bytes: Number(bytes) + REDIS_EXPIRY_BYTES };
  });
}

function listSqliteKeys(path: string): readonly StoredKey[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const select = (sql: string) => database.prepare(sql).all();
  const tables = select(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  );
  const rows = tables.flatMap(({ name: table }) => {
    const columns = select(`PRAGMA table_info(${table})`).map(({ name }) => `LENGTH(${name})`);
    const bytes = [...columns, 'LENGTH(key)', String(SQLITE_ROW_BYTES)].join(' + ');
    return select(`SELECT key, SUM(${bytes}) AS bytes FROM ${table} GROUP BY key`);
  });
  database.close();
  return rows.map(({ key, bytes }) => ({ key: String(key), bytes: Number(bytes) }));
}
