import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

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
