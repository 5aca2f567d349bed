/** What the store sends, itself or from its scripts; HELLO, AUTH, QUIT and RESET need no permission. */
const operations = [
  ...['get', 'set', 'unlink', 'exists'],
  ...['incrby', 'decr', 'pttl', 'pexpire', 'persist'],
  ...['zadd', 'zrem', 'zrange', 'zrangebyscore', 'zremrangebyscore'],
  ...['evalsha', 'eval'],
  // May the user that loads the append-only file run all of it (redis-replay.ts)?
  'acl|dryrun',
] as const;

/** What ioredis sends on its own: has the server finished loading? */
const readiness = 'info';

/**
 * What stands after the name of a Redis user, in an ACL file, who can do what the store needs and nothing else; the
 * password comes on top. A stolen connection cannot list keys, change the configuration or wipe everything.
 */
export const redisAccessRule: string = [
  'on',
  'resetchannels',
  'resetkeys',
  '~*',
  '-@all',
  ...[...operations, readiness].map((command) => `+${command}`),
].join(' ');
