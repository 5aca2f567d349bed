import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

export interface StoredKey {
  readonly key: string;
  /** What the engine spends on it: Redis as it reports it, SQLite the row and its indexes. */
  readonly bytes: number;
}

const REDIS_KEYS = `
  local lines = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    lines[#lines + 1] = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) .. ' ' .. key
  end
  return table.concat(lines, '\\n')`;
/** Of a row: its lengths, its expiry, and the pointers of its indexes. */
const SQLITE_ROW_BYTES = 40;
const SQLITE_ROWS = {
  entries: 'value',
  counters: 'count',
  index_members: 'member',
  log_entries: 'entry',
};

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
    return { key: key.join(' '), bytes: Number(bytes) };
  });
}

function listSqliteKeys(path: string): readonly StoredKey[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = Object.entries(SQLITE_ROWS).flatMap(([table, value]) =>
    database
      .prepare(
        `SELECT key, SUM(2 * LENGTH(key) + LENGTH(${value}) + ${SQLITE_ROW_BYTES}) AS bytes
         FROM ${table} GROUP BY key`,
      )
      .all(),
  );
  database.close();
  return rows.map(({ key, bytes }) => ({ key: String(key), bytes: Number(bytes) }));
}
