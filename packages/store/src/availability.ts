export type StoreState = 'available' | 'unavailable';

/** Remembers whether the engine answers, and tells each change once. */
export interface Availability {
  report(state: StoreState): void;
}

export function createAvailability(onChange?: (state: StoreState) => void): Availability {
  let current: StoreState = 'available';
  return {
    report(state) {
      if (state !== current) {
        current = state;
        onChange?.(state);
      }
    },
  };
}
