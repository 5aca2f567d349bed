import { stat, statfs } from 'node:fs/promises';
import type { StoreRoom } from '../port/store.ts';
import { RESERVE_BYTES } from './sqlite-reserve.ts';

/**
 * The size of the store's file, and the size that it can reach with the free space of its file
 * system, without the reserve for revocations. The used share of the whole disk would mean less: if other files fill 85 % of a disk, the
 * rest may still last the store for years.
 */
export async function readSqliteRoom(path: string): Promise<StoreRoom> {
  const [file, log, { bavail, bsize }] = await Promise.all([
    sizeOf(path),
    sizeOf(`${path}-wal`),
    statfs(path),
  ]);
  const usedBytes = file + log;
  return { usedBytes, maximumBytes: usedBytes + Math.max(0, bavail * bsize - RESERVE_BYTES) };
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.size ?? 0;
}
