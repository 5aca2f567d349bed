export type StoreState = 'available' | 'unavailable';

export type OnStateChange = (state: StoreState, reason: string | undefined) => void;

/**
 * Remembers whether the engine answers, and tells each change once. During an outage every further reason is told, once:
 * attempts to connect that fail in turns in two ways must not write a line each.
 */
export interface Availability {
  /** @param reason why it is unavailable, where that is known; holds no secret */
  report(state: StoreState, reason?: string): void;
}

export function createAvailability(onChange?: OnStateChange): Availability {
  let current: StoreState = 'available';
  const told = new Set<string>();
  return {
    report(state, reason) {
      const isNewReason = reason !== undefined && !told.has(reason);
      if (state === current && !isNewReason) {
        return;
      }
      current = state;
      if (state === 'available') {
        told.clear();
      } else if (reason !== undefined) {
        told.add(reason);
      }
      onChange?.(state, reason);
    },
  };
}
