import { Cluster, type Redis, ReplyError } from 'ioredis';
import type { RedisLocation } from '../store-url.ts';
import { ConfirmedBatches, type Write } from './confirmed-batches.ts';
import {
  keyOfEveryShard,
  masterOf,
  type RedisClient,
  redirectedMaster,
  redirectionOf,
  someKeyOf,
} from './redis-client.ts';
import { RedisConnection, type RedisConnectionDependencies } from './redis-connection.ts';
import type { RequiredReplicas } from './required-replicas.ts';

const FENCE_PREFIX = 'fence:';
const PING_MILLISECONDS = 60_000;

/**
 * The writes that a failover must not lose. They use separate connections (see `ConfirmedBatches`).
 * Without replicas, they are plain writes.
 */
export class ConfirmedWrites {
  readonly #connection: RedisConnection;
  readonly #warn: (message: string) => void;
  readonly #batches = new WeakMap<Redis, ConfirmedBatches>();
  /** The key is the replication id of a data set. Each failover adds an entry, so there are few. */
  readonly #required = new Map<string, RequiredReplicas>();

  constructor(location: RedisLocation, dependencies: RedisConnectionDependencies) {
    this.#connection = new RedisConnection(location, dependencies);
    this.#warn = dependencies.warn;
  }

  /**
   * @param key the key that the command writes. In a cluster, it selects the server
   * @throws StoreUnavailableError also if the master applied the write, but its replicas did not
   * confirm it
   */
  send<Reply>(
    operation: string,
    key: string,
    command: (client: Redis) => Promise<Reply>,
  ): Promise<Reply> {
    return this.#connection.send(operation, (client, isExpired) =>
      this.#sendOver(client, key, { command, isExpired }),
    );
  }

  /** Resolves when every master accepts a write and its replicas confirm it. */
  async ping(): Promise<void> {
    await this.#connection.send('ping', (client, isExpired) =>
      Promise.all(
        keyOfEveryShard(client).map((key) => {
          const command = (server: Redis) => server.set(key, '', 'PX', PING_MILLISECONDS);
          return this.#sendOver(client, key, { command, isExpired });
        }),
      ),
    );
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #sendOver<Reply>(client: RedisClient, key: string, write: Write<Reply>): Promise<Reply> {
    return client instanceof Cluster
      ? this.#sendToMaster(client, key, write)
      : this.#batchesOf(client, client).add(write);
  }

  async #sendToMaster<Reply>(cluster: Cluster, key: string, write: Write<Reply>): Promise<Reply> {
    try {
      const master = masterOf(cluster, key);
      return await this.#batchesOf(cluster, master).add(write);
    } catch (error) {
      const redirection = redirectionOf(error);
      if (redirection === undefined) {
        // A master that is down sends no redirect. Refresh the slot table to find its successor.
        if (!(error instanceof ReplyError)) {
          cluster.refreshSlotsCache();
        }
        throw error;
      }
      const master = await redirectedMaster(cluster, redirection.address);
      const command = (client: Redis) => {
        if (redirection.asking) {
          client.asking().catch(() => undefined);
        }
        return write.command(client);
      };
      return this.#batchesOf(cluster, master).add({ ...write, command });
    }
  }

  #batchesOf(client: RedisClient, server: Redis): ConfirmedBatches {
    const known = this.#batches.get(server);
    if (known !== undefined) {
      return known;
    }
    const batches = new ConfirmedBatches(server, {
      warn: this.#warn,
      requiredReplicas: this.#required,
      findFenceKey: () =>
        client instanceof Cluster ? someKeyOf(client, server, FENCE_PREFIX) : FENCE_PREFIX,
    });
    this.#batches.set(server, batches);
    return batches;
  }
}
