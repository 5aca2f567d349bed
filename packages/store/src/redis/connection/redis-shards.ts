import { Cluster, Command } from 'ioredis';
import type { RedisClient } from './redis-client.ts';

const PREFIX = 'ready';
const SLOTS = 16_384;
/** A master with a single slot is found by then with near certainty. */
const MAXIMUM_ATTEMPTS = 200_000;

/**
 * One key for each master that owns slots of a cluster, reachable or not, and one for the slots that nobody owns. One key
 * in all where there is no cluster.
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
