import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

const TABLES = ['entries', 'counters', 'index_members', 'log_entries'];
const ALL_KEYS = "return table.concat(redis.call('KEYS', '*'), '\\n')";

/** The keys that a store holds, expired ones that it has not removed yet included. Redis needs `redis-cli`. */
export async function listStoredKeys(storeUrl: string): Promise<readonly string[]> {
  if (storeUrl.startsWith('sqlite:')) {
    const database = new DatabaseSync(storeUrl.slice('sqlite:'.length), { readOnly: true });
    const rows = TABLES.flatMap((table) =>
      database.prepare(`SELECT DISTINCT key FROM ${table}`).all(),
    );
    database.close();
    return rows.map(({ key }) => String(key)).sort();
  }
  const { stdout } = await promisify(execFile)('redis-cli', [
    '-u',
    storeUrl,
    'EVAL',
    ALL_KEYS,
    '0',
  ]);
  return stdout.trim().split('\n').filter(Boolean).sort();
}
