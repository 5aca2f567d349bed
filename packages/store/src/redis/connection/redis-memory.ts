import type { StoreRoom } from '../../port/store.ts';
import { fullest } from '../../port/store-room.ts';
import { mastersOf, type RedisClient } from './redis-client.ts';

/**
 * A Redis server that may evict keys. It would first evict short-lived keys that are not read
 * again: used codes, used signatures, tombstones of revocations. Used and revoked credentials would
 * then work again, so the store writes nothing to such a server (RD-15).
 */
export class EvictingRedisError extends Error {
  constructor(policy: string) {
    super(`Redis evicts keys (maxmemory-policy ${policy}). Set it to noeviction.`);
    this.name = 'EvictingRedisError';
  }
}

/**
 * Sends INFO to every master, because a Redis user without the right to read the configuration may
 * send it.
 *
 * @returns the memory of the fullest master, as Redis compares it with maxmemory
 * @throws EvictingRedisError if a master may evict keys
 */
export async function readMemory(client: RedisClient): Promise<StoreRoom> {
  const reports = await Promise.all(mastersOf(client).map((master) => master.info('memory')));
  const rooms = reports.map((report): StoreRoom => {
    const policy = /^maxmemory_policy:(\S+)/m.exec(report)?.[1] ?? 'unknown';
    if (policy !== 'noeviction') {
      throw new EvictingRedisError(policy);
    }
    const bytes = (name: string) =>
      Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(report)?.[1] ?? 0);
    return {
      usedBytes: bytes('used_memory') - bytes('mem_not_counted_for_evict'),
      maximumBytes: bytes('maxmemory') || undefined,
    };
  });
  return fullest(rooms);
}
