import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

export interface StoredKey {
  readonly key: string;
  /** What the engine spends on it: Redis as it reports it, with the expiry; SQLite the row and its indexes. */
  readonly bytes: number;
}

/** What `MEMORY USAGE` leaves out: the entry in the table of expiries, and the slots of both tables. */
const REDIS_EXPIRY_BYTES = 64;
const REDIS_KEYS = `
  local lines = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    lines[#lines + 1] = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) .. ' ' .. key
  end
  return table.concat(lines, '\\n')`;
/** Of a row, beside its columns and the second copy of its key: the pointers of its indexes. */
const SQLITE_ROW_BYTES = 30;

/** The keys that a store holds, expired ones that it has not removed yet included. Redis needs `redis-cli`. */
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
