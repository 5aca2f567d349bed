import { randomUUID } from 'node:crypto';
import { type Redis, ReplyError } from 'ioredis';
import { mastersOf, type RedisClient } from './redis-client.ts';

/**
 * A Redis server that loses writes at its next start. It loads its append-only file as the user
 * `default`, and drops each transaction with a command that this user may not run. In the file,
 * every script with two writes is a transaction.
 */
export class LossyRedisError extends Error {
  constructor(command: string) {
    super(
      `Redis loses writes when it restarts: its user default may not run ${command} on every key. ` +
        'Give this user ~* and +@all, and a password that nobody knows.',
    );
    this.name = 'LossyRedisError';
  }
}

const unverified =
  'Redis does not report whether its user default may load the append-only file. ' +
  'Allow the store’s user +acl|dryrun, or check that default has ~* and +@all.';

/**
 * What Redis appends to the file for the store's commands and scripts. It appends an expired key as
 * DEL or UNLINK.
 */
const replayedCommands: readonly (readonly [string, ...string[]])[] = [
  ['SET', 'value'],
  ['DEL'],
  ['UNLINK'],
  ['INCRBY', '1'],
  ['DECR'],
  ['PEXPIREAT', '1'],
  ['PERSIST'],
  ['ZADD', '1', 'member'],
  ['ZREM', 'member'],
  ['ZREMRANGEBYSCORE', '0', '1'],
];

/**
 * Asks every master that has an append-only file. ACL DRYRUN runs nothing and reveals no password.
 *
 * @param warn receives a warning if a master rejects ACL DRYRUN, as managed services do
 * @throws LossyRedisError if a master would drop a write
 */
export async function assertReplayable(
  client: RedisClient,
  warn: (message: string) => void,
): Promise<void> {
  const answers = await Promise.all(mastersOf(client).map(isReplayable));
  if (answers.includes(undefined)) {
    warn(unverified);
  }
}

/** @returns undefined if Redis rejects ACL DRYRUN */
async function isReplayable(master: Redis): Promise<true | undefined> {
  if (!/^aof_enabled:1/m.test(await master.info('persistence'))) {
    return true;
  }
  // Only the key pattern * matches it.
  const key = randomUUID();
  const replies = await Promise.all(
    replayedCommands.map(([command, ...words]) =>
      master.call('ACL', 'DRYRUN', 'default', command, key, ...words).catch(refusal),
    ),
  );
  const refused = replies.findIndex((reply) => reply !== 'OK' && reply !== undefined);
  if (refused !== -1) {
    throw new LossyRedisError(replayedCommands[refused]?.[0] ?? '');
  }
  return replies.includes(undefined) ? undefined : true;
}

/** After an error reply, the answer is unknown. A failed connection is an outage. */
function refusal(error: unknown): undefined {
  if (!(error instanceof ReplyError)) {
    throw error;
  }
}
