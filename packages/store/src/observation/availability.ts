/** `full`: it reads and refuses to write. `nearly-full`: it works, but an operator should check it. */
export type StoreState = 'available' | 'nearly-full' | 'full' | 'unavailable';

export type OnStateChange = (state: StoreState, reason: string | undefined) => void;

export const isWorking = (state: StoreState): boolean =>
  state === 'available' || state === 'nearly-full';

/**
 * Remembers how the engine is, and reports each change once. During an outage, it also reports each further reason
 * once: attempts to connect that fail alternately in two ways must not write a line each.
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

  /** @param reason why it is in this state, where that is known; holds no secret */
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
