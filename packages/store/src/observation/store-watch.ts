import {
  type Store,
  StoreFullError,
  type StoreRoom,
  StoreUnavailableError,
} from '../port/store.ts';
import { NEARLY_FULL_SHARE, nearlyFullReason, shareUsed } from '../port/store-room.ts';
import { Availability, isWorking, type OnStateChange } from './availability.ts';

/** Reports of an engine, in addition to the results of `ping`. */
export interface EngineSignals {
  /** The engine is unavailable. The reason, if known, contains no secret. */
  lost(reason?: string): void;
  /** The engine may work again. */
  recheck(): void;
}

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
 * Lower than NEARLY_FULL_SHARE, so that a store around that share does not change its state
 * repeatedly.
 */
const NO_LONGER_NEARLY_FULL_SHARE = 0.75;

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
export class StoreWatch implements EngineSignals {
  readonly #availability: Availability;
  readonly #onRoom: ((room: StoreRoom) => void) | undefined;
  #engine: Pick<Store, 'ping'> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<StoreRoom> | undefined;
  /** The last examination was the first to fail. */
  #isDoubted = false;
  #examinedAt = Number.NEGATIVE_INFINITY;
  #refusal: { readonly error: StoreFullError; readonly at: number } | undefined;

  constructor(onChange: OnStateChange, onRoom?: (room: StoreRoom) => void) {
    this.#availability = new Availability(onChange);
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

  lost(reason?: string): void {
    this.#availability.report('unavailable', reason);
  }

  recheck(): void {
    // An examination in progress may have started before the change.
    const examined = this.#running?.catch(() => undefined) ?? Promise.resolve();
    void examined.then(() => this.#examineInBackground());
  }

  failed(error: unknown): void {
    if (error instanceof StoreFullError) {
      this.#noteRefusal(error);
    } else if (error instanceof StoreUnavailableError && isWorking(this.#availability.state)) {
      this.#examineSoon();
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
      const room = await this.#ping();
      this.#isDoubted = false;
      this.#onRoom?.(room);
      this.#assertNoRecentRefusal();
      this.#reportWorking(room);
      return room;
    } catch (error) {
      this.#noteFailure(error);
      throw error;
    }
  }

  #ping(): Promise<StoreRoom> {
    return this.#engine?.ping() ?? Promise.reject(new Error('The store is closed.'));
  }

  #assertNoRecentRefusal(): void {
    const { error, at } = this.#refusal ?? {};
    if (at !== undefined && performance.now() - at < FULL_FOR_MILLISECONDS) {
      throw error;
    }
    this.#refusal = undefined;
  }

  #reportWorking(room: StoreRoom): void {
    const wasNearlyFull = this.#availability.state === 'nearly-full';
    const threshold = wasNearlyFull ? NO_LONGER_NEARLY_FULL_SHARE : NEARLY_FULL_SHARE;
    if (shareUsed(room) < threshold) {
      this.#availability.report('available');
    } else {
      this.#availability.report('nearly-full', nearlyFullReason);
    }
  }

  #noteFailure(error: unknown): void {
    if (error instanceof StoreFullError && error !== this.#refusal?.error) {
      this.#noteRefusal(error);
    } else if (error instanceof StoreUnavailableError && !(error instanceof StoreFullError)) {
      this.#noteOutage(error);
    }
  }

  /**
   * A process that was paused sees timeouts without an outage. A second examination distinguishes
   * the two.
   */
  #noteOutage({ reason }: StoreUnavailableError): void {
    if (this.#isDoubted || !isWorking(this.#availability.state)) {
      this.#availability.report('unavailable', reason);
    } else if (this.#engine !== undefined) {
      this.#isDoubted = true;
      setTimeout(() => this.#examineInBackground(), SECOND_EXAMINATION_MILLISECONDS).unref();
    }
  }

  #noteRefusal(error: StoreFullError): void {
    this.#refusal = { error, at: performance.now() };
    this.#availability.report('full', error.reason);
  }

  #examineSoon(): void {
    if (performance.now() - this.#examinedAt > SHORTEST_PAUSE_MILLISECONDS) {
      this.#examineInBackground();
    }
  }

  #examineInBackground(): void {
    this.examine().catch(() => undefined);
  }
}
