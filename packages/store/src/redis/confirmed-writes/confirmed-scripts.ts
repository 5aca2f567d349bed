import type { Redis } from 'ioredis';
import { NEVER_EXPIRES } from '../../port/store.ts';
import { ALLOW_OOM } from '../connection/redis-scripts.ts';

/** An index key outlives its last member by this margin, in case the clock is set back. */
const INDEX_MARGIN_MILLISECONDS = 60_000;

/** The scripts of confirmed writes. Each is atomic and, except `claimAll`, uses one key. */
export const confirmedScripts = {
  replace: `
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then
      return 0
    end
    redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
    return 1`,
  /** Each key has an owner and a lifetime in milliseconds, which is empty if it does not expire. */
  claimAll: `
    local holders = {}
    for i = 1, #KEYS do
      local owner, lifetime = ARGV[2 * i - 1], ARGV[2 * i]
      if lifetime == '' then
        holders[i] = redis.call('SET', KEYS[i], owner, 'NX', 'GET')
      else
        holders[i] = redis.call('SET', KEYS[i], owner, 'NX', 'GET', 'PX', lifetime)
      end
    end
    return holders`,
  /** Uses the caller's clock, which also set the scores, because the clock of Redis may differ. */
  addIndexMember: `
    local member, expiresAt, now = ARGV[1], ARGV[2], ARGV[3]
    redis.call('ZADD', KEYS[1], expiresAt, member)
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
    local last = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
    if not last then
      return
    end
    if last >= ${NEVER_EXPIRES} then
      redis.call('PERSIST', KEYS[1])
    else
      local lifetime = last - tonumber(now) + ${INDEX_MARGIN_MILLISECONDS}
      redis.call('PEXPIRE', KEYS[1], string.format('%.0f', lifetime))
    end`,
  /** SET as part of a revocation. Redis accepts it even at its maxmemory. */
  setAlways: `${ALLOW_OOM}
    return redis.call('SET', KEYS[1], ARGV[1], unpack(ARGV, 2))`,
} as const;

/**
 * Sends a script as source. If it were sent by its digest and Redis did not know it (NOSCRIPT),
 * ioredis would send the source after the WAIT that must confirm the write. The reply is not
 * validated.
 */
export function sendScript(
  client: Redis,
  name: keyof typeof confirmedScripts,
  keys: readonly string[],
  words: readonly (string | number)[],
): Promise<unknown> {
  return client.call('eval', [confirmedScripts[name], keys.length, ...keys, ...words]);
}
