import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { OPERATION_DEADLINE_MILLISECONDS } from '../../port/limits.ts';
import type { RedisLocation } from '../../port/store-url.ts';
import { type RedisScriptCommands, redisScripts } from './redis-scripts.ts';

export type RedisClient = (Redis | Cluster) & RedisScriptCommands;

const CONNECT_TIMEOUT_MILLISECONDS = 1000;
/** A peer that does not answer a FIN is frozen or gone: waiting for it only delays the next attempt. */
const DISCONNECT_TIMEOUT_MILLISECONDS = 50;
const LOADING_PAUSE_MILLISECONDS = 250;
const SHORTEST_PAUSE_MILLISECONDS = 50;
const LONGEST_PAUSE_MILLISECONDS = 250;

/** Short, so that the store is back within two seconds; uneven, so that processes don't come all at once. */
export function reconnectPauseMilliseconds(): number {
  const spread = LONGEST_PAUSE_MILLISECONDS - SHORTEST_PAUSE_MILLISECONDS;
  return SHORTEST_PAUSE_MILLISECONDS + Math.round(Math.random() * spread);
}

/**
 * By default, ioredis queues while Redis is unavailable, waits without end for one that is frozen, and sends again
 * what may already have been applied. None of it here: a command is answered in time or it failed.
 */
const clientOptions = {
  scripts: redisScripts,
  // A connection without replies is closed, so that commands do not wait behind each other. The time is far longer
  // than the deadline of an operation (deadline.ts), because ioredis also counts the time in which this process did not
  // run.
  socketTimeout: 4 * OPERATION_DEADLINE_MILLISECONDS,
  connectTimeout: CONNECT_TIMEOUT_MILLISECONDS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MILLISECONDS,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // Zero fails what is in flight the moment the connection is lost.
  maxRetriesPerRequest: 0,
  // CLIENT SETINFO: nothing needs it, and the store's Redis user may not send it.
  disableClientInfo: true,
  maxLoadingRetryTime: LOADING_PAUSE_MILLISECONDS,
  retryStrategy: reconnectPauseMilliseconds,
  // A master that became a replica: connect again to find the new one. The command itself fails.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/**
 * A cluster sends again what failed as "Connection is closed". One attempt of the node itself to come back
 * makes that say "never sent": what was in flight fails by another name, and is not applied twice.
 */
function reconnectNodeOnce(attempt: number): number | null {
  return attempt === 1 ? SHORTEST_PAUSE_MILLISECONDS : null;
}

export function createRedisClient(location: RedisLocation): RedisClient {
  const credentials = {
    ...(location.username !== undefined && { username: location.username }),
    ...(location.password !== undefined && { password: location.password }),
  };
  const options = { ...clientOptions, ...credentials, ...(location.tls && { tls: {} }) };
  switch (location.engine) {
    case 'redis':
      return new Redis({
        ...options,
        ...location.endpoint,
        db: location.database,
      }) as RedisClient;
    case 'redis-sentinel':
      return new Redis({
        ...options,
        sentinels: [...location.endpoints],
        name: location.masterName,
        sentinelRetryStrategy: reconnectPauseMilliseconds,
        sentinelCommandTimeout: OPERATION_DEADLINE_MILLISECONDS,
        failoverDetector: true,
        ...(location.tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
      }) as RedisClient;
    case 'redis-cluster':
      return new Cluster([...location.endpoints], {
        redisOptions: options,
        // A node's commands of one turn of the event loop in one write; elsewhere RedisConnection does it.
        enableAutoPipelining: true,
        scripts: redisScripts,
        enableOfflineQueue: false,
        clusterRetryStrategy: reconnectPauseMilliseconds,
        slotsRefreshTimeout: OPERATION_DEADLINE_MILLISECONDS,
        maxRedirections: 3,
        retryDelayOnFailover: 100,
        clusterNodeRetryStrategy: reconnectNodeOnce,

        retryDelayOnClusterDown: 100,
      }) as RedisClient;
  }
}
