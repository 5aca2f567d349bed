import { NEVER_EXPIRES } from '../../port/store.ts';

/** How much longer than its last member an index key lives, should the clock be set back meanwhile. */
const INDEX_MARGIN_MILLISECONDS = 60_000;

/** A script with this flag may write while Redis is over its maxmemory (Redis 7.0 and later). */
const ALLOW_OOM = '#!lua flags=allow-oom\n';

/**
 * Scores are microseconds of the time of the append, raised so that each is above the last: their order is the order of
 * the appends, whatever the callers' clocks say.
 */
const appendToLog = `
      local entry, capacity, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
      local maximumAge, replaces = tonumber(ARGV[4]), ARGV[5]
      if replaces then
        redis.call('ZREM', KEYS[1], replaces)
      end
      local last = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
      local score = now * 1000
      if last and last >= score then
        score = last + 1
      end
      redis.call('ZADD', KEYS[1], string.format('%.0f', score), entry)
      local beyond = redis.call('ZRANGE', KEYS[1], -capacity - 1, -capacity - 1, 'WITHSCORES')[2]
      if beyond then
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', beyond)
      end
      if maximumAge > 0 then
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', (now - maximumAge) * 1000))
      end`;

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
  appendToLog: { numberOfKeys: 1, lua: appendToLog },
  // The same writes for a revocation, which a Redis at its maxmemory has to accept.
  setAlways: {
    numberOfKeys: 1,
    lua: `${ALLOW_OOM}
      return redis.call('SET', KEYS[1], ARGV[1], unpack(ARGV, 2))`,
  },
  appendToLogAlways: { numberOfKeys: 1, lua: `${ALLOW_OOM}${appendToLog}` },
} as const;

/** What ioredis makes of them: one method a script. Replies are as unchecked as any from the wire. */
export type RedisScriptCommands = {
  readonly [name in keyof typeof redisScripts]: (
    key: string,
    ...arguments_: (string | number)[]
  ) => Promise<unknown>;
};
