/** A script with this flag may write while Redis is over its maxmemory (Redis 7.0 and later). */
export const ALLOW_OOM = '#!lua flags=allow-oom\n';

/** Needs the variables `capacity`, `now` and `maximumAge`. */
const trimLog = `
      local beyond = redis.call('ZRANGE', KEYS[1], -capacity - 1, -capacity - 1, 'WITHSCORES')[2]
      if beyond then
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', beyond)
      end
      if maximumAge > 0 then
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', (now - maximumAge) * 1000))
      end`;

/**
 * A score is the time of the append in microseconds. If the last score is not lower, it is the last
 * score plus one. The order of the scores is therefore the order of the appends, even if the clocks
 * of the processes differ.
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
      ${trimLog}`;

const appendAllToLog = `
      local capacity, now, maximumAge = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
      local last = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
      local score = now * 1000
      if last and last >= score then
        score = last + 1
      end
      for i = 4, #ARGV do
        redis.call('ZADD', KEYS[1], string.format('%.0f', score), ARGV[i])
        score = score + 1
      end
      ${trimLog}`;

/**
 * The operations on counters and logs. Each is atomic and uses one key, so that it runs on a
 * cluster. ioredis sends a script by its digest, and sends the source if the server does not know
 * the digest (NOSCRIPT). Confirmed writes must not be sent twice (confirmed-scripts.ts).
 */
export const redisScripts = {
  /**
   * A counter without an expiry would lock its subject out forever, so a counter that lacks one
   * gets one.
   */
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
  appendToLog: { numberOfKeys: 1, lua: appendToLog },
  appendAllToLog: { numberOfKeys: 1, lua: appendAllToLog },
  /** The same write as part of a revocation. Redis accepts it even at its maxmemory. */
  appendToLogAlways: { numberOfKeys: 1, lua: `${ALLOW_OOM}${appendToLog}` },
} as const;

/** The methods that ioredis creates, one for each script. Their replies are not validated. */
export type RedisScriptCommands = {
  readonly [name in keyof typeof redisScripts]: (
    key: string,
    ...arguments_: (string | number)[]
  ) => Promise<unknown>;
};
