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

/** What ioredis sends on its own: has the server finished loading, and which server of a cluster has what? */
const discovery = ['info', 'cluster|slots', 'cluster|info', 'readonly', 'readwrite'] as const;

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
  ...[...operations, ...discovery].map((command) => `+${command}`),
].join(' ');
