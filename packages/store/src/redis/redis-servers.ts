import { randomUUID } from 'node:crypto';
import { Cluster, type Redis, ReplyError } from 'ioredis';
import type { StoreRoom } from '../store.ts';
import type { RedisClient } from './redis-client.ts';
import { UnsafeRedisError } from './redis-outage-reason.ts';

/** The servers that accept writes. */
const mastersOf = (client: RedisClient): readonly Redis[] =>
  client instanceof Cluster ? client.nodes('master') : [client];

/**
 * Sends INFO to every master, because a Redis user without the right to read the configuration may
 * send it. A server that may evict keys would first evict short-lived keys that are not read again:
 * used codes, used signatures, tombstones of revocations. Used and revoked credentials would then
 * work again, so the store writes nothing to such a server.
 *
 * @returns the memory of the fullest master, as Redis compares it with maxmemory
 * @throws UnsafeRedisError if a master may evict keys
 */
export async function readRoom(client: RedisClient): Promise<StoreRoom> {
  const reports = await Promise.all(
    mastersOf(client).map((master) => master.info('memory', 'server')),
  );
  const rooms = reports.map((report) => {
    const word = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(report)?.[1];
    const policy = word('maxmemory_policy');
    if (policy !== 'noeviction') {
      throw new UnsafeRedisError(
        `Redis evicts keys (maxmemory-policy ${policy}). Set it to noeviction.`,
      );
    }
    return {
      usedBytes: Number(word('used_memory')) - Number(word('mem_not_counted_for_evict') ?? 0),
      maximumBytes: Number(word('maxmemory')) || undefined,
      server: {
        version: word('redis_version') ?? 'unknown',
        time: Math.round(Number(word('server_time_usec')) / 1000),
      },
    };
  });
  const [fullest] = rooms.toSorted((one, other) => shareUsed(other) - shareUsed(one));
  const { usedBytes = 0, maximumBytes } = fullest ?? {};
  return { usedBytes, maximumBytes, servers: rooms.map(({ server }) => server) };
}

function shareUsed({ usedBytes, maximumBytes }: Omit<StoreRoom, 'servers'>): number {
  return maximumBytes === undefined ? 0 : usedBytes / maximumBytes;
}

const unverified =
  'Redis does not report whether its user default may load the append-only file. ' +
  'Allow the store’s user +acl|dryrun, or check that default has ~* and +@all.';

/**
 * A Redis server loads its append-only file as the user `default`, and drops each transaction with a
 * command that this user may not run. In the file, every script with two writes is a transaction.
 * Asks every master that has such a file. ACL DRYRUN runs nothing and reveals no password.
 *
 * @param warn receives a warning if a master rejects ACL DRYRUN, as managed services do
 * @throws UnsafeRedisError if a master would drop a write at its next start
 */
export async function assertReplayable(
  client: RedisClient,
  warn: (message: string) => void,
): Promise<void> {
  const answers = await Promise.all(mastersOf(client).map(dryRunWrite));
  if (answers.includes(undefined)) {
    warn(unverified);
  }
  if (answers.some((answer) => answer !== undefined && answer !== 'OK')) {
    throw new UnsafeRedisError(
      'Redis loses writes when it restarts: its user default may not run SET on every key. ' +
        'Give this user ~* and +@all, and a password that nobody knows.',
    );
  }
}

/**
 * A user without the right to SET has none to other writes. Only the key pattern * matches the key.
 *
 * @returns undefined if Redis rejects ACL DRYRUN
 */
async function dryRunWrite(master: Redis): Promise<unknown> {
  if (!/^aof_enabled:1/m.test(await master.info('persistence'))) {
    return 'OK';
  }
  return master
    .call('ACL', 'DRYRUN', 'default', 'SET', randomUUID(), '')
    .catch((error: unknown) => {
      // After an error reply, the answer is unknown. A failed connection is an outage.
      if (!(error instanceof ReplyError)) {
        throw error;
      }
    });
}
