/**
 * `full`: reads work and writes fail. `nearly-full`: all works, but an operator should check it.
 */
export type StoreState = 'available' | 'nearly-full' | 'full' | 'unavailable';

export type OnStateChange = (state: StoreState, reason: string | undefined) => void;

export const isWorking = (state: StoreState): boolean =>
  state === 'available' || state === 'nearly-full';

/**
 * Remembers the state of the engine, and reports each change once. During an outage, it also
 * reports each further reason once. If attempts to connect fail alternately for two reasons, each
 * attempt would otherwise write a log line.
 */
export class Availability {
  readonly #onChange: OnStateChange | undefined;
  readonly #reported = new Set<string>();
  #state: StoreState = 'available';

  constructor(onChange?: OnStateChange) {
    this.#onChange = onChange;
  }

  get state(): StoreState {
    return this.#state;
  }

  /** @param reason the cause of this state, if known. Contains no secret */
  report(state: StoreState, reason?: string): void {
    const isNewReason = reason !== undefined && !isWorking(state) && !this.#reported.has(reason);
    if (state === this.#state && !isNewReason) {
      return;
    }
    this.#state = state;
    if (isWorking(state)) {
      this.#reported.clear();
    } else if (reason !== undefined) {
      this.#reported.add(reason);
    }
    this.#onChange?.(state, reason);
  }
}
