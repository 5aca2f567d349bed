import { stat, statfs } from 'node:fs/promises';
import type { StoreRoom } from '../port/store.ts';

/**
 * What the file of the store uses, and how large it can become: with all that its file system has left. The share of
 * the whole disk would say less: a disk that others have filled to 85 % may have room for years.
 */
export async function readSqliteRoom(path: string): Promise<StoreRoom> {
  const [file, log, { bavail, bsize }] = await Promise.all([
    sizeOf(path),
    sizeOf(`${path}-wal`),
    statfs(path),
  ]);
  const usedBytes = file + log;
  return { usedBytes, maximumBytes: usedBytes + bavail * bsize };
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.size ?? 0;
}
