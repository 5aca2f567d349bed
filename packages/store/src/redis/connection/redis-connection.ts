import { Redis } from 'ioredis';
import type { EngineSignals } from '../../observation/store-watch.ts';
import { OPERATION_DEADLINE_MILLISECONDS } from '../../port/limits.ts';
import { StoreFullError, StoreUnavailableError } from '../../port/store.ts';
import type { RedisLocation } from '../../port/store-url.ts';
import { withinDeadline } from './deadline.ts';
import { createRedisClient, type RedisClient, reconnectPauseMilliseconds } from './redis-client.ts';
import { readMemory } from './redis-memory.ts';
import { isFull, NO_REPLY, outageReason } from './redis-outage-reason.ts';
import { assertReplayable } from './redis-replay.ts';

const EXAMINE_AGAIN_MILLISECONDS = 500;

/**
 * The connection, its state, and the deadline of what is sent over it.
 *
 *   connecting ──ready, keeps keys──▶ available ──lost──▶ connecting ──failed──▶ unavailable ──ready──▶ available
 *
 * While it connects (at start, or for the first time after a loss) operations wait for it, within their
 * deadline; once an attempt has failed they fail at once, so that nothing piles up during an outage.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #signals: EngineSignals;
  readonly #warn: (message: string) => void;
  #gathering: Redis['stream'] | undefined;
  #state: 'connecting' | 'available' | 'unavailable' | 'closed' = 'connecting';
  #connected = deferred();
  #connectionError: unknown;
  #reconnecting: NodeJS.Timeout | undefined;
  #examining: NodeJS.Timeout | undefined;

  constructor(location: RedisLocation, signals: EngineSignals, warn: (message: string) => void) {
    this.#signals = signals;
    this.#warn = warn;
    this.#client = createRedisClient(location);
    this.#client.on('ready', () => this.#examine());
    // Without a listener ioredis prints errors; their text and properties may hold credentials.
    this.#client.on('error', (error: unknown) => {
      this.#connectionError = error;
      this.#fail(error);
    });
    this.#client.on('close', () => this.#lose());
    this.#client.on('end', () => this.#connectAnew());
  }

  /**
   * Sends a command, or fails within the deadline.
   *
   * @throws StoreUnavailableError whatever went wrong
   */
  async send<Reply>(
    operation: string,
    command: (client: RedisClient) => Promise<Reply>,
  ): Promise<Reply> {
    try {
      return await withinDeadline(OPERATION_DEADLINE_MILLISECONDS, (isExpired) =>
        this.#isReady() ? this.#sendNow(command) : this.#sendOnceConnected(command, isExpired),
      );
    } catch (error) {
      const Failure = isFull(error) ? StoreFullError : StoreUnavailableError;
      // When a connection closes, ioredis rejects what is in flight with an error of its own.
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
      // Waits for the replies in flight. A server that is already down is not an error.
      await this.#client.quit().catch(() => undefined);
    }
    this.#client.disconnect();
  }

  #isReady(): boolean {
    return this.#state === 'available' && this.#client.status === 'ready';
  }

  #sendNow<Reply>(command: (client: RedisClient) => Promise<Reply>): Promise<Reply> {
    if (this.#client instanceof Redis) {
      this.#gather(this.#client.stream);
    }
    return command(this.#client);
  }

  async #sendOnceConnected<Reply>(
    command: (client: RedisClient) => Promise<Reply>,
    isExpired: () => boolean,
  ): Promise<Reply> {
    await this.#connected.promise;
    // A command must not be sent after its caller received a timeout.
    if (isExpired()) {
      throw new Error(NO_REPLY);
    }
    return command(this.#client);
  }

  /** A server that answers is used only once it is known to keep what it is given. */
  #examine(): void {
    clearTimeout(this.#examining);
    Promise.all([readMemory(this.#client), assertReplayable(this.#client, this.#warn)]).then(
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
   * One write for the commands of one turn of the event loop: a quarter of the CPU time of a busy process. ioredis can
   * do that itself (enableAutoPipelining), but its pipelines come and go in a Map, whose tables V8 links as it replaces
   * them: young collections then carry along every request that waited for one.
   */
  #gather(stream: Redis['stream']): void {
    if (this.#gathering !== stream) {
      this.#gathering = stream;
      stream.cork();
      setImmediate(() => {
        this.#gathering = undefined;
        stream.uncork();
      });
    }
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
    this.#signals.recheck();
  }

  /** The connection is lost. The next attempt may take longer than those after it. */
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
    this.#signals.lost(outageReason(error));
  }

  /** ioredis gives up where a failover interrupts its search for the master. We don't. */
  #connectAnew(): void {
    if (this.#state !== 'closed') {
      clearTimeout(this.#reconnecting);
      this.#reconnecting = setTimeout(() => {
        this.#client.connect().catch(() => undefined);
      }, reconnectPauseMilliseconds());
    }
  }
}

/** A promise that may be rejected with nobody listening. */
function deferred() {
  const result = Promise.withResolvers<void>();
  result.promise.catch(() => undefined);
  return result;
}

/** ioredis hangs the command on its errors, and Redis quotes arguments: tokens, values, passwords. */
function withoutArguments(error: unknown): Error {
  const { name, message } = error as Partial<Error>;
  const safe = new Error(String(message).replace(/,? with args beginning with:.*/s, ''));
  safe.name = name ?? 'Error';
  return safe;
}
