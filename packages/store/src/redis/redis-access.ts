/** What the store sends, itself or from its scripts; HELLO, AUTH, QUIT and RESET need no permission. */
const operations = [
  ...['get', 'set', 'unlink', 'exists'],
  ...['incrby', 'decr', 'pttl', 'pexpire', 'persist'],
  ...['zadd', 'zrem', 'zrange', 'zrangebyscore', 'zremrangebyscore'],
  ...['evalsha', 'eval'],
  // May the user that loads the append-only file run all of it (redis-replay.ts)?
  'acl|dryrun',
  // Writes are acknowledged once the replicas have them; a slot of a cluster may be on its way to another server.
  ...['wait', 'asking'],
] as const;

/** Commands that ioredis sends by itself, to see whether a server is loaded and which one has a key. */
const discovery = ['info', 'cluster|slots', 'cluster|info', 'readonly', 'readwrite'] as const;

/**
 * The rule of an ACL file for a Redis user with exactly the rights that the store needs, without the
 * name and the password. A stolen connection cannot list keys, change the configuration or delete
 * everything.
 */
export const redisAccessRule: string = [
  'on',
  'resetchannels',
  'resetkeys',
  '~*',
  '-@all',
  ...[...operations, ...discovery].map((command) => `+${command}`),
].join(' ');
