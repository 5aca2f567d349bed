/** The commands of the store and its scripts. HELLO, AUTH, QUIT and RESET need no permission. */
const operations = [
  'get',
  'set',
  'unlink',
  'exists',
  'incrby',
  'decr',
  'pttl',
  'pexpire',
  'persist',
  'zadd',
  'zrem',
  'zrange',
  'zrangebyscore',
  'zremrangebyscore',
  'evalsha',
  'eval',
  // Checks the rights of the user that loads the append-only file (redis-replay.ts).
  'acl|dryrun',
  // WAIT confirms that replicas have a write. ASKING follows a slot that is migrating.
  'wait',
  'asking',
] as const;

/**
 * ioredis sends these to check that a server has loaded its data and to find the server of a key.
 */
const discovery = ['info', 'cluster|slots', 'cluster|info', 'readonly', 'readwrite'] as const;

/**
 * The rule of an ACL file for a Redis user with exactly the rights that the store needs, without
 * the name and the password. A stolen connection cannot list keys, change the configuration or
 * delete everything.
 */
export const redisAccessRule: string = [
  'on',
  'resetchannels',
  'resetkeys',
  '~*',
  '-@all',
  ...[...operations, ...discovery].map((command) => `+${command}`),
].join(' ');
