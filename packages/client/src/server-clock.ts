/** The clock of the gateway, as far as the client knows it. */
export interface ServerClock {
  now(): number;
  /** Returns a function that restores the earlier state. */
  learn(serverTime: number, sentAt: number, receivedAt: number): () => void;
}

export function createServerClock(): ServerClock {
  let offset = 0;
  return {
    now: () => Date.now() + offset,
    learn(serverTime, sentAt, receivedAt) {
      const earlier = offset;
      offset = Math.round(serverTime - (sentAt + receivedAt) / 2);
      return () => {
        offset = earlier;
      };
    },
  };
}

const HALF_SECOND = 500;

/** From `Date`, which has whole seconds, so the time is half a second later on average. */
export function serverTimeOf({ headers }: Response): number | undefined {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? undefined : date + HALF_SECOND;
}
