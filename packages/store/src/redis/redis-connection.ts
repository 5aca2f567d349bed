import { Cluster, Redis } from 'ioredis';
import { atEndOfTurn } from '../end-of-turn.ts';
import {
  OPERATION_DEADLINE_MILLISECONDS,
  StoreFullError,
  StoreUnavailableError,
} from '../store.ts';
import type { RedisLocation } from '../store-url.ts';
import type { StoreWatch } from '../store-watch.ts';
import { createRedisClient, type RedisClient, reconnectPauseMilliseconds } from './redis-client.ts';
import { closeSilentConnections, withinDeadline } from './redis-deadline.ts';
import { isFull, NO_REPLY, outageReason } from './redis-outage-reason.ts';
import { assertReplayable, readRoom } from './redis-servers.ts';

const EXAMINE_AGAIN_MILLISECONDS = 500;

/**
 * While a master of a cluster fails, two operations of one request can wait, one after the other.
 * Their request still gets its 503 within 700 ms (test/faults).
 */
const FAILING_CLUSTER_DEADLINE_MILLISECONDS = 225;

export interface RedisConnectionDependencies {
  readonly watch: StoreWatch | undefined;
  /** Receives warnings that an operator should check. */
  readonly warn: (message: string) => void;
}

type Send<Reply> = (client: RedisClient, isExpired: () => boolean) => Promise<Reply>;

/**
 * The connection to Redis, its state, and the deadline of each command.
 *
 *   connecting ──ready and examined──▶ available ──lost──▶ connecting
 *   connecting ──failed──▶ unavailable ──ready and examined──▶ available
 *
 * At start, and during the first attempt after a loss, operations wait for the connection within
 * their deadline. After a failed attempt, they fail immediately, so that they do not accumulate
 * during an outage.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #dependencies: RedisConnectionDependencies;
  readonly #stopClosing: () => void;
  #corkedStream: Redis['stream'] | undefined;
  #state: 'connecting' | 'available' | 'unavailable' | 'closed' = 'connecting';
  #connected = deferred();
  #connectionError: unknown;
  #reconnecting: NodeJS.Timeout | undefined;
  #examining: NodeJS.Timeout | undefined;

  constructor(location: RedisLocation, dependencies: RedisConnectionDependencies) {
    this.#dependencies = dependencies;
    const client = createRedisClient(location);
    this.#client = client;
    this.#stopClosing = closeSilentConnections(() =>
      client instanceof Redis ? [client] : client.nodes(),
    );
    this.#client.on('ready', () => this.#examine());
    // Without a listener, ioredis prints errors, whose text and properties may contain credentials.
    this.#client.on('error', (error: unknown) => {
      this.#connectionError = error;
      this.#fail(error);
    });
    this.#client.on('close', () => this.#lose());
    this.#client.on('end', () => this.#scheduleReconnect());
  }

  /**
   * Sends a command, or fails within the deadline.
   *
   * @param send sends the command. `isExpired` returns whether its caller has received a timeout.
   * The command must not be sent after that
   * @throws StoreUnavailableError for every failure
   */
  async send<Reply>(operation: string, send: Send<Reply>): Promise<Reply> {
    try {
      return await withinDeadline(this.#deadline(), (isExpired) =>
        this.#state === 'available' && this.#client.status === 'ready'
          ? send(this.#corked(), isExpired)
          : this.#sendOnceConnected(send, isExpired),
      );
    } catch (error) {
      const Failure = isFull(error) ? StoreFullError : StoreUnavailableError;
      // When a connection closes, ioredis rejects commands in flight with an error without the
      // cause.
      const reason = outageReason(error) ?? outageReason(this.#connectionError);
      throw new Failure(operation, withoutArguments(error), reason);
    }
  }

  async close(): Promise<void> {
    const wasAvailable = this.#state === 'available';
    this.#state = 'closed';
    clearTimeout(this.#reconnecting);
    clearTimeout(this.#examining);
    this.#connected.reject(new Error('The store is closed.'));
    if (wasAvailable) {
      // QUIT waits for the replies in flight. A server that is already down is not an error.
      const quit = withinDeadline(OPERATION_DEADLINE_MILLISECONDS, () => this.#client.quit());
      await quit.catch(() => undefined);
    }
    this.#stopClosing();
    this.#client.disconnect();
  }

  #deadline(): number {
    const isFailing =
      this.#client instanceof Cluster &&
      // A master to which no command was sent has the status `wait`.
      this.#client.nodes('master').some(({ status }) => status !== 'ready' && status !== 'wait');
    return isFailing ? FAILING_CLUSTER_DEADLINE_MILLISECONDS : OPERATION_DEADLINE_MILLISECONDS;
  }

  async #sendOnceConnected<Reply>(send: Send<Reply>, isExpired: () => boolean): Promise<Reply> {
    await this.#connected.promise;
    if (isExpired()) {
      throw new Error(NO_REPLY);
    }
    return send(this.#client, isExpired);
  }

  /**
   * Uses a server only after it is known that the server neither evicts keys nor drops writes when
   * it restarts.
   */
  #examine(): void {
    clearTimeout(this.#examining);
    Promise.all([
      readRoom(this.#client),
      assertReplayable(this.#client, this.#dependencies.warn),
    ]).then(
      () => this.#becomeAvailable(),
      (error: unknown) => {
        this.#fail(error);
        if (this.#state !== 'closed' && this.#client.status === 'ready') {
          this.#examining = setTimeout(() => this.#examine(), EXAMINE_AGAIN_MILLISECONDS);
        }
      },
    );
  }

  /**
   * Sends the commands of one event-loop turn in one write, which saves a quarter of the CPU time
   * of a busy process. ioredis has an option for this (enableAutoPipelining), but keeps its
   * pipelines in a Map through which the garbage collector retains every request that waited
   * (bench/gateway).
   */
  #corked(): RedisClient {
    const client = this.#client;
    if (client instanceof Redis && this.#corkedStream !== client.stream) {
      const { stream } = client;
      this.#corkedStream = stream;
      stream.cork();
      atEndOfTurn(() => {
        this.#corkedStream = undefined;
        stream.uncork();
      });
    }
    return client;
  }

  #becomeAvailable(): void {
    if (this.#state === 'closed') {
      return;
    }
    if (this.#state === 'unavailable') {
      this.#connected = deferred();
    }
    this.#state = 'available';
    this.#connectionError = undefined;
    this.#connected.resolve();
    this.#dependencies.watch?.recheck();
  }

  /** After a loss, operations wait for the first attempt to reconnect, and fail if it fails. */
  #lose(): void {
    if (this.#state === 'available') {
      this.#state = 'connecting';
      this.#connected = deferred();
    } else if (this.#state === 'connecting') {
      this.#fail(new Error(NO_REPLY));
    }
  }

  #fail(error: unknown): void {
    if (this.#state !== 'connecting' && this.#state !== 'unavailable') {
      return;
    }
    this.#connected.reject(error);
    this.#state = 'unavailable';
    this.#dependencies.watch?.lost(outageReason(error));
  }

  /** Needed because ioredis gives up if a failover interrupts its search for the master. */
  #scheduleReconnect(): void {
    if (this.#state !== 'closed') {
      clearTimeout(this.#reconnecting);
      this.#reconnecting = setTimeout(() => {
        this.#client.connect().catch(() => undefined);
      }, reconnectPauseMilliseconds());
    }
  }
}

/** A promise whose rejection needs no handler. */
function deferred() {
  const result = Promise.withResolvers<void>();
  result.promise.catch(() => undefined);
  return result;
}

/**
 * Removes tokens, values and passwords: ioredis attaches the command to its errors, and Redis
 * quotes arguments in its replies.
 */
function withoutArguments(error: unknown): Error {
  const { name, message } = error as Partial<Error>;
  const safe = new Error(String(message).replace(/,? with args beginning with:.*/s, ''));
  safe.name = name ?? 'Error';
  return safe;
}
