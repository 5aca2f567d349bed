import type { Cluster, Redis } from 'ioredis';
import { lifetimeMilliseconds, NEVER_EXPIRES, type WriteOptions } from '../store.ts';

/** A script with this flag may write while Redis is over its maxmemory (Redis 7.0 and later). */
const ALLOW_OOM = '#!lua flags=allow-oom\n';

/**
 * A score is the time of the append in microseconds. If the last score is not lower, it is the last
 * score plus one. The order of the scores is therefore the order of the appends, even if the clocks
 * of the processes differ.
 */
const appendToLog = `
      local capacity, now, maximumAge = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
      if ARGV[4] ~= '' then
        redis.call('ZREM', KEYS[1], ARGV[4])
      end
      local last = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
      local score = now * 1000
      if last and last >= score then
        score = last + 1
      end
      for i = 5, #ARGV do
        redis.call('ZADD', KEYS[1], string.format('%.0f', score), ARGV[i])
        score = score + 1
      end
      local beyond = redis.call('ZRANGE', KEYS[1], -capacity - 1, -capacity - 1, 'WITHSCORES')[2]
      if beyond then
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', beyond)
      end
      if maximumAge > 0 then
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', (now - maximumAge) * 1000))
      end`;

/** An index key outlives its last member by this margin, in case the clock is set back. */
const INDEX_MARGIN_MILLISECONDS = 60_000;

/** Each is atomic and, except `claimAll`, uses one key, so that it runs on a cluster. */
const scripts = {
  /**
   * A counter without an expiry would lock its subject out forever, so a counter that lacks one
   * gets one. An amount of 0 writes nothing.
   */
  incrementInWindow: `
    if ARGV[2] == '0' then
      return {redis.call('GET', KEYS[1]) or 0, redis.call('PTTL', KEYS[1])}
    end
    local count = redis.call('INCRBY', KEYS[1], ARGV[2])
    local remaining = redis.call('PTTL', KEYS[1])
    if remaining < 0 then
      remaining = tonumber(ARGV[1])
      redis.call('PEXPIRE', KEYS[1], remaining)
    end
    return {count, remaining}`,
  decrementToZero: `
    local count = redis.call('GET', KEYS[1])
    if count and tonumber(count) > 0 then
      redis.call('DECR', KEYS[1])
    end`,
  appendToLog,
  /** The same write as part of a revocation. Redis accepts it even at its maxmemory. */
  appendToLogAlways: `${ALLOW_OOM}${appendToLog}`,
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
  client: Redis | Cluster,
  name: keyof typeof scripts,
  keys: readonly string[],
  words: readonly (string | number)[] = [],
): Promise<unknown> {
  return client.eval(scripts[name], keys.length, ...keys, ...words);
}

/** The words of SET for a lifetime. Without one, the value stays until it is deleted. */
export type ExpiryWords = readonly [] | readonly ['PX', milliseconds: number];

export function expiryWords(ttlSeconds: number | undefined): ExpiryWords {
  return ttlSeconds === undefined ? [] : ['PX', lifetimeMilliseconds(ttlSeconds)];
}

/** Sends SET, for a revocation in a script that a full Redis accepts. */
export function sendSet(
  client: Redis,
  key: string,
  words: readonly [value: string, ...(string | number)[]],
  { revokes = false }: WriteOptions,
): Promise<unknown> {
  return revokes
    ? sendScript(client, 'setAlways', [key], words)
    : client.call('set', key, ...words);
}

/** Any other reply comes from a broken server or connection. It is an outage, never "not found". */
export function optionalText(reply: unknown): string | undefined {
  return reply === null ? undefined : text(reply);
}

export function texts(reply: unknown): readonly string[] {
  return list(reply).map(text);
}

export function optionalTexts(reply: unknown): readonly (string | undefined)[] {
  return list(reply).map(optionalText);
}

function list(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) {
    throw unexpectedReply();
  }
  return reply;
}

function text(reply: unknown): string {
  if (typeof reply !== 'string') {
    throw unexpectedReply();
  }
  return reply;
}

export function unexpectedReply(): Error {
  return new Error('Redis sent an unexpected reply.');
}

/**
 * The commands of the store and its scripts, and EVALSHA, which the previous release sends. HELLO,
 * AUTH, QUIT and RESET need no permission.
 */
const operations =
  'get set unlink exists incrby decr pttl pexpire persist ' +
  'zadd zrem zrange zrangebyscore zremrangebyscore evalsha eval';
/** WAIT confirms that replicas have a write. ACL DRYRUN checks that the server can load its file. */
const durability = 'acl|dryrun wait';
/** ioredis checks that a server has loaded its data, and finds and follows the server of a key. */
const discovery = 'info cluster|slots cluster|info readonly readwrite asking';

/**
 * The rule of an ACL file for a Redis user with exactly the rights that the store needs, without
 * the name and the password. A stolen connection cannot list keys, change the configuration or
 * delete everything.
 */
export const redisAccessRule: string = `on resetchannels resetkeys ~* -@all ${[
  operations,
  durability,
  discovery,
]
  .join(' ')
  .replace(/\S+/g, '+$&')}`;
