import type { NewLogRecord } from './log-record.ts';

export interface Transition {
  readonly to: 'online' | 'offline';
  /** Epoch milliseconds. */
  readonly time: number;
  readonly address: string | undefined;
}

/**
 * Returns the last `online` and the last `offline` of a report, in order. A timestamp in the future
 * counts as now, because otherwise a fast clock would block later transitions.
 */
export function transitionsOf(
  records: readonly NewLogRecord[],
  now: number,
): readonly Transition[] {
  const latest = new Map<Transition['to'], Transition>();
  const happened = records
    .flatMap(({ type, timestamp, address }) =>
      type === 'online' || type === 'offline'
        ? [{ to: type, time: Math.min(timestamp, now), address }]
        : [],
    )
    .sort((one, other) => one.time - other.time);
  for (const transition of happened) {
    latest.delete(transition.to);
    latest.set(transition.to, transition);
  }
  return [...latest.values()];
}
