import { Cluster } from 'ioredis';
import type { StoreRoom } from '../../port/store.ts';
import { fullest } from '../../port/store-room.ts';
import type { RedisClient } from './redis-client.ts';

/**
 * A Redis that may evict. What it would throw away first are the short-lived keys nobody reads: used codes, used
 * signatures, tombstones of what was revoked. Without them all of it works again, so nothing is stored there (RD-15).
 */
export class EvictingRedisError extends Error {
  constructor(policy: string) {
    super(`Redis evicts keys (maxmemory-policy ${policy}). Set it to noeviction.`);
    this.name = 'EvictingRedisError';
  }
}

/**
 * Asks every master, by INFO: users who may not read the configuration may read that.
 *
 * @returns the memory of the fullest, as Redis compares it with its limit
 * @throws EvictingRedisError where one of them may throw keys away
 */
export async function readMemory(client: RedisClient): Promise<StoreRoom> {
  const masters = client instanceof Cluster ? client.nodes('master') : [client];
  const reports = await Promise.all(masters.map((master) => master.info('memory')));
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
