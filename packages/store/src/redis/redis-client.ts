import { Cluster, Command, Redis, type RedisOptions, ReplyError } from 'ioredis';
import { OPERATION_DEADLINE_MILLISECONDS } from '../store.ts';
import type { RedisLocation } from '../store-url.ts';

export type RedisClient = Redis | Cluster;

const CONNECT_TIMEOUT_MILLISECONDS = 1000;
/**
 * A peer that does not answer a FIN is frozen or down. A longer wait only delays the next attempt.
 */
const DISCONNECT_TIMEOUT_MILLISECONDS = 50;
const LOADING_PAUSE_MILLISECONDS = 250;
const SHORTEST_PAUSE_MILLISECONDS = 50;
const LONGEST_PAUSE_MILLISECONDS = 250;

/**
 * Short, so that the store recovers within two seconds. Random, so that the processes do not all
 * reconnect at the same time.
 */
export function reconnectPauseMilliseconds(): number {
  const spread = LONGEST_PAUSE_MILLISECONDS - SHORTEST_PAUSE_MILLISECONDS;
  return SHORTEST_PAUSE_MILLISECONDS + Math.round(Math.random() * spread);
}

/**
 * By default, ioredis queues commands while Redis is unavailable, waits forever for a frozen
 * server, and resends commands that may already have been applied. These options prevent all three:
 * a command succeeds in time or fails.
 */
const clientOptions = {
  connectTimeout: CONNECT_TIMEOUT_MILLISECONDS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MILLISECONDS,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // Zero fails the commands in flight as soon as the connection is lost.
  maxRetriesPerRequest: 0,
  // The store's Redis user may not send CLIENT SETINFO (redis-scripts.ts).
  disableClientInfo: true,
  maxLoadingRetryTime: LOADING_PAUSE_MILLISECONDS,
  retryStrategy: reconnectPauseMilliseconds,
  // The master has become a replica. Reconnect to find the new master. The command itself fails.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

export function createRedisClient(location: RedisLocation): RedisClient {
  const options = { ...clientOptions, ...location.connection };
  switch (location.engine) {
    case 'redis':
      return new Redis({ ...options, ...location.endpoint, db: location.database });
    case 'redis-sentinel':
      return new Redis({
        ...options,
        sentinels: [...location.endpoints],
        name: location.masterName,
        sentinelRetryStrategy: reconnectPauseMilliseconds,
        sentinelCommandTimeout: OPERATION_DEADLINE_MILLISECONDS,
        failoverDetector: true,
        ...(options.tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
      });
    case 'redis-cluster':
      return new Cluster([...location.endpoints], {
        redisOptions: options,
        // Sends a node's commands of one event-loop turn in one write. RedisConnection does this
        // for the other topologies.
        enableAutoPipelining: true,
        enableOfflineQueue: false,
        clusterRetryStrategy: reconnectPauseMilliseconds,
        slotsRefreshTimeout: OPERATION_DEADLINE_MILLISECONDS,
        maxRedirections: 3,
        retryDelayOnFailover: 100,
        // ioredis resends each command that fails with "Connection is closed." With one attempt to
        // reconnect to the node, commands in flight fail with a different error, so ioredis resends
        // only commands that were never sent, and applies none twice.
        clusterNodeRetryStrategy: (attempt) => (attempt === 1 ? SHORTEST_PAUSE_MILLISECONDS : null),
        retryDelayOnClusterDown: 100,
      });
  }
}

const slotOf = (key: string) => new Command('get', [key]).getSlot();
const addressOf = ({ options: { host, port } }: Redis) => `${host}:${port}`;

/**
 * A cluster's reply that another server has the key. `asking` is true for ASK: the slot is migrating,
 * so the redirection applies to this command only.
 */
export function redirectionOf(error: unknown) {
  const [, word, address] =
    error instanceof ReplyError
      ? (/^(MOVED|ASK) \d+ (\S+)$/.exec((error as Error).message) ?? [])
      : [];
  return address === undefined ? undefined : { asking: word === 'ASK', address };
}

/**
 * @throws Error if no connection to the key's master is known
 */
export function masterOf(cluster: Cluster, key: string): Redis {
  const address = cluster.slots[slotOf(key)]?.[0];
  return connectionTo(cluster, address) ?? fail();
}

/** Refreshes the slot cache, and waits for it if the server has only just joined the cluster. */
export async function redirectedMaster(cluster: Cluster, address: string): Promise<Redis> {
  const known = connectionTo(cluster, address);
  const refreshed = new Promise<void>((resolve) => cluster.refreshSlotsCache(() => resolve()));
  if (known !== undefined) {
    return known;
  }
  await refreshed;
  return connectionTo(cluster, address) ?? fail();
}

/** Finds a key in one of the master's slots. */
export function someKeyOf(cluster: Cluster, master: Redis, prefix: string): string {
  return keyOwnedBy(cluster, addressOf(master), prefix) ?? fail();
}

function connectionTo(cluster: Cluster, address: string | undefined): Redis | undefined {
  return cluster.nodes('master').find((master) => addressOf(master) === address);
}

function fail(): never {
  throw new Error('No connection to the master of this slot is known.');
}

const PREFIX = 'ready';
const SLOTS = 16_384;
/** Enough to find even a master with a single slot with near certainty. */
const MAXIMUM_ATTEMPTS = 200_000;

/**
 * In a cluster, one key for each master that owns slots, reachable or not, and one key for slots
 * without an owner. Otherwise, a single key.
 */
export function keyOfEveryShard(client: RedisClient): readonly string[] {
  if (!(client instanceof Cluster)) {
    return [PREFIX];
  }
  const owners = new Set(Array.from({ length: SLOTS }, (_, slot) => client.slots[slot]?.[0]));
  return [...owners].flatMap((owner) => keyOwnedBy(client, owner, `${PREFIX}:`) ?? []);
}

/** @param owner the address of a server. Undefined for slots without an owner */
function keyOwnedBy(cluster: Cluster, owner: string | undefined, prefix: string) {
  for (let number = 0; number < MAXIMUM_ATTEMPTS; number += 1) {
    const key = `${prefix}${number}`;
    if (cluster.slots[slotOf(key)]?.[0] === owner) {
      return key;
    }
  }
  return undefined;
}
