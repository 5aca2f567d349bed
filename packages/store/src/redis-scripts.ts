import { NEVER_EXPIRES } from './store.ts';

/** How much longer than its last member an index key lives, should the clock be set back meanwhile. */
const INDEX_MARGIN_MILLISECONDS = 60_000;

/** A script with this flag may write while Redis is over its maxmemory (Redis 7.0 and later). */
const ALLOW_OOM = '#!lua flags=allow-oom\n';

const appendCapped = `
      redis.call('LPUSH', KEYS[1], ARGV[1])
      redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[2]) - 1)`;

/**
 * The read-modify-write operations, each atomic and on one key, so that they run on a cluster. ioredis
 * sends them by digest, and whole again when the server has forgotten them (NOSCRIPT).
 */
export const redisScripts = {
  /** A counter without an end would lock its owner out for good, so it gets one, however it came to be. */
  incrementInWindow: {
    numberOfKeys: 1,
    lua: `
      local count = redis.call('INCRBY', KEYS[1], ARGV[2])
      local remaining = redis.call('PTTL', KEYS[1])
      if remaining < 0 then
        remaining = tonumber(ARGV[1])
        redis.call('PEXPIRE', KEYS[1], remaining)
      end
      return {count, remaining}`,
  },
  decrementToZero: {
    numberOfKeys: 1,
    lua: `
      local count = redis.call('GET', KEYS[1])
      if count and tonumber(count) > 0 then
        redis.call('DECR', KEYS[1])
      end`,
  },
  readCounter: {
    numberOfKeys: 1,
    lua: `return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])}`,
  },
  /** Lifetimes are relative to the caller's clock, which also wrote the scores: Redis's may differ. */
  addIndexMember: {
    numberOfKeys: 1,
    lua: `
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
  },
  appendCapped: { numberOfKeys: 1, lua: appendCapped },
  // The same writes for a revocation, which a Redis at its maxmemory has to accept.
  setAlways: {
    numberOfKeys: 1,
    lua: `${ALLOW_OOM}
      return redis.call('SET', KEYS[1], ARGV[1], unpack(ARGV, 2))`,
  },
  appendCappedAlways: { numberOfKeys: 1, lua: `${ALLOW_OOM}${appendCapped}` },
} as const;

/** What ioredis makes of them: one method a script. Replies are as unchecked as any from the wire. */
export type RedisScriptCommands = {
  readonly [name in keyof typeof redisScripts]: (
    key: string,
    ...arguments_: (string | number)[]
  ) => Promise<unknown>;
};
