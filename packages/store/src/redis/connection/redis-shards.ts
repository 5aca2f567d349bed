import { Cluster, Command } from 'ioredis';
import type { RedisClient } from './redis-client.ts';

const PREFIX = 'ready';
const SLOTS = 16_384;
/** Enough to find even a master with a single slot with near certainty. */
const MAXIMUM_ATTEMPTS = 200_000;

/**
 * In a cluster, one key for each master that owns slots, reachable or not, and one key for slots
 * without an owner. Otherwise, a single key.
 */
export function keyOfEveryShard(client: RedisClient): readonly string[] {
  if (!(client instanceof Cluster)) {
    return [PREFIX];
  }
  const ownerOf = (slot: number) => client.slots[slot]?.[0];
  const missing = new Set(Array.from({ length: SLOTS }, (_, slot) => ownerOf(slot)));
  const keys: string[] = [];
  for (let number = 0; missing.size > 0 && number < MAXIMUM_ATTEMPTS; number += 1) {
    const key = `${PREFIX}:${number}`;
    if (missing.delete(ownerOf(new Command('get', [key]).getSlot()))) {
      keys.push(key);
    }
  }
  return keys;
}
