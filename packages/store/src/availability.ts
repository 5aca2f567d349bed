export type StoreState = 'available' | 'unavailable';

export type OnStateChange = (state: StoreState, reason: string | undefined) => void;

/** Remembers whether the engine answers, and tells each change once, each reason to act included. */
export interface Availability {
  /** @param reason what an operator has to change, where that is known; holds no secret */
  report(state: StoreState, reason?: string): void;
}

export function createAvailability(onChange?: OnStateChange): Availability {
  let current: StoreState = 'available';
  let currentReason: string | undefined;
  return {
    report(state, reason) {
      if (state !== current || (reason !== undefined && reason !== currentReason)) {
        current = state;
        currentReason = reason;
        onChange?.(state, reason);
      }
    },
  };
}
