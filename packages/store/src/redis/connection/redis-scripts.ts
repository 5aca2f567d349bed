import { NEVER_EXPIRES } from '../../port/store.ts';

/** An index key outlives its last member by this margin, in case the clock is set back. */
const INDEX_MARGIN_MILLISECONDS = 60_000;

/** A script with this flag may write while Redis is over its maxmemory (Redis 7.0 and later). */
const ALLOW_OOM = '#!lua flags=allow-oom\n';

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
 * The read-modify-write operations. Each is atomic and uses one key, so that it runs on a cluster.
 * The exception is `claimAll`. ioredis sends a script by its digest, and sends the source if the
 * server does not know the digest (NOSCRIPT).
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
  replaceValue: {
    numberOfKeys: 1,
    lua: `
      if redis.call('GET', KEYS[1]) ~= ARGV[1] then
        return 0
      end
      redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
      return 1`,
  },
  /** The claims of one event-loop turn (redis-claims.ts). Its keys may have several slots. */
  claimAll: {
    lua: `
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
  },
  readCounter: {
    numberOfKeys: 1,
    lua: `return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])}`,
  },
  /** Uses the caller's clock, which also set the scores, because the clock of Redis may differ. */
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
  appendAllToLog: { numberOfKeys: 1, lua: appendAllToLog },
  // The same writes as part of a revocation. Redis accepts them even at its maxmemory.
  setAlways: {
    numberOfKeys: 1,
    lua: `${ALLOW_OOM}
      return redis.call('SET', KEYS[1], ARGV[1], unpack(ARGV, 2))`,
  },
  appendToLogAlways: { numberOfKeys: 1, lua: `${ALLOW_OOM}${appendToLog}` },
} as const;

/** The methods that ioredis creates, one for each script. Their replies are not validated. */
export type RedisScriptCommands = {
  readonly [name in Exclude<keyof typeof redisScripts, 'claimAll'>]: (
    key: string,
    ...arguments_: (string | number)[]
  ) => Promise<unknown>;
} & {
  readonly claimAll: (
    numberOfKeys: number,
    keys: readonly string[],
    ownersAndLifetimes: readonly (string | number)[],
  ) => Promise<unknown>;
};
