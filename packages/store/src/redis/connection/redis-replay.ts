import { randomUUID } from 'node:crypto';
import { Cluster, type Redis, ReplyError } from 'ioredis';
import type { RedisClient } from './redis-client.ts';

/**
 * A Redis that loses writes at its next start. It loads its append-only file as the user `default`, and drops each
 * transaction with a command that this user may not run. Every script with two writes is such a transaction.
 */
export class LossyRedisError extends Error {
  constructor(command: string) {
    super(
      `Redis loses writes when it restarts: its user default may not run ${command} on every key. Give this user ~* and +@all, and a password that nobody knows.`,
    );
    this.name = 'LossyRedisError';
  }
}

const unverified =
  'Redis does not tell whether its user default may load the append-only file. Allow the store’s user +acl|dryrun, or check that default has ~* and +@all.';

/** What the store's commands and scripts leave in the file. Expired keys are there as DEL or UNLINK. */
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
 * Asks every master that has an append-only file. ACL DRYRUN runs nothing, and shows no password.
 *
 * @param warn told where Redis refuses to answer, as managed ones do
 * @throws LossyRedisError where one of them would drop a write
 */
export async function assertReplayable(
  client: RedisClient,
  warn: (message: string) => void,
): Promise<void> {
  const masters = client instanceof Cluster ? client.nodes('master') : [client];
  const answers = await Promise.all(masters.map(isReplayable));
  if (answers.includes(undefined)) {
    warn(unverified);
  }
}

/** @returns undefined where Redis refuses to answer */
async function isReplayable(master: Redis): Promise<true | undefined> {
  if (!/^aof_enabled:1/m.test(await master.info('persistence'))) {
    return true;
  }
  // No pattern but * matches it.
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

/** An error reply is no answer. A connection that fails is an outage. */
function refusal(error: unknown): undefined {
  if (!(error instanceof ReplyError)) {
    throw error;
  }
}
