import { type Store, StoreFullError, type StoreRoom, StoreUnavailableError } from './store.ts';

/** `full`: reads work and writes fail. */
export type StoreState = 'available' | 'full' | 'unavailable';

export type OnStateChange = (state: StoreState, reason: string | undefined) => void;

const PERIOD_MILLISECONDS = 1000;
/** Thousands of operations can fail within a second. One examination covers all of them. */
const SHORTEST_PAUSE_MILLISECONDS = 100;
/** Gives a connection that timed out the time to close. */
const SECOND_EXAMINATION_MILLISECONDS = 50;
/**
 * At its limit, a store accepts a write whenever something expires. It counts as full until it has
 * rejected no write for this long.
 */
const FULL_FOR_MILLISECONDS = 3000;

/**
 * Watches whether the store works, and reports each change.
 *
 *   every second ───────┐
 *   a failed operation ─┴▶ examine: the engine's `ping` writes and reads on every shard ─▶ state, room
 *   the engine itself ───▶ lost (no connection, with the reason)
 *
 * Only an examination reports that the store works. A successful operation proves little, because
 * it may have used a different shard from the one that is missing.
 */
export class StoreWatch {
  readonly #onChange: OnStateChange;
  readonly #onRoom: ((room: StoreRoom) => void) | undefined;
  readonly #reasons = new Set<string | undefined>();
  #state: StoreState = 'available';
  #engine: Pick<Store, 'ping'> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<StoreRoom> | undefined;
  /** The last examination was the first to fail. */
  #isDoubted = false;
  #examinedAt = Number.NEGATIVE_INFINITY;
  #refusal: { readonly error: StoreFullError; readonly at: number } | undefined;

  constructor(onChange: OnStateChange, onRoom?: (room: StoreRoom) => void) {
    this.#onChange = onChange;
    this.#onRoom = onRoom;
  }

  start(engine: Pick<Store, 'ping'>): void {
    this.#engine = engine;
    this.#timer = setInterval(() => this.#examineInBackground(), PERIOD_MILLISECONDS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#engine = undefined;
  }

  /** The engine reports that it is unavailable. The reason, if known, contains no secret. */
  lost(reason?: string): void {
    this.#report('unavailable', reason);
  }

  /** The engine reports that it may work again. */
  recheck(): void {
    // An examination in progress may have started before the change.
    const examined = this.#running?.catch(() => undefined) ?? Promise.resolve();
    void examined.then(() => this.#examineInBackground());
  }

  failed(error: unknown): void {
    if (error instanceof StoreFullError) {
      this.#noteRefusal(error);
      return;
    }
    const isRecent = performance.now() - this.#examinedAt <= SHORTEST_PAUSE_MILLISECONDS;
    if (error instanceof StoreUnavailableError && this.#state === 'available' && !isRecent) {
      this.#examineInBackground();
    }
  }

  /**
   * Examines the engine now. Concurrent calls share one examination.
   *
   * @throws StoreFullError also for a while after the last rejected write
   * @throws StoreUnavailableError
   */
  examine(): Promise<StoreRoom> {
    this.#running ??= this.#examine().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #examine(): Promise<StoreRoom> {
    this.#examinedAt = performance.now();
    try {
      const closed = new Error('The store is closed.');
      const room = await (this.#engine?.ping() ?? Promise.reject(closed));
      this.#isDoubted = false;
      this.#onRoom?.(room);
      const { error, at } = this.#refusal ?? {};
      if (at !== undefined && performance.now() - at < FULL_FOR_MILLISECONDS) {
        throw error;
      }
      this.#refusal = undefined;
      this.#report('available');
      return room;
    } catch (error) {
      if (error instanceof StoreFullError) {
        this.#noteRefusal(error);
      } else if (error instanceof StoreUnavailableError) {
        this.#noteOutage(error);
      }
      throw error;
    }
  }

  /**
   * A process that was paused sees timeouts without an outage. A second examination distinguishes
   * the two.
   */
  #noteOutage({ reason }: StoreUnavailableError): void {
    if (this.#isDoubted || this.#state !== 'available') {
      this.#report('unavailable', reason);
    } else if (this.#engine !== undefined) {
      this.#isDoubted = true;
      setTimeout(() => this.#examineInBackground(), SECOND_EXAMINATION_MILLISECONDS).unref();
    }
  }

  #noteRefusal(error: StoreFullError): void {
    if (error !== this.#refusal?.error) {
      this.#refusal = { error, at: performance.now() };
    }
    this.#report('full', error.reason);
  }

  #examineInBackground(): void {
    this.examine().catch(() => undefined);
  }

  /** During an outage, reports each further reason once, for the log. */
  #report(state: StoreState, reason?: string): void {
    const isKnown = reason === undefined || this.#reasons.has(reason);
    if (state === this.#state && isKnown) {
      return;
    }
    if (state === 'available') {
      this.#reasons.clear();
    }
    this.#reasons.add(reason);
    this.#state = state;
    this.#onChange(state, reason);
  }
}

/**
 * The state of the store in `/ready`. A full store still serves reads, and all
 * processes share it, so taking an instance out of rotation would only stop the calls that work.
 * Not ready means that another instance may reach a working store: this one reaches none, or a
 * Redis that may have missed a revocation (`READONLY`, `NOREPLICAS`).
 */
export async function storeReadiness(store: Pick<Store, 'ping'>) {
  try {
    await store.ping();
    return { ready: true, state: 'ok' } as const;
  } catch (error) {
    const isFull = error instanceof StoreFullError;
    return { ready: isFull, state: isFull ? 'full' : 'unavailable' } as const;
  }
}
