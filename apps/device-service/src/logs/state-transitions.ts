import type { NewLogRecord } from './log-record.ts';

export interface Transition {
  readonly to: 'online' | 'offline';
  /** Epoch milliseconds. */
  readonly time: number;
  readonly address: string | undefined;
}

/**
 * What a report says about the connection: its last `online` and its last `offline`, in the order they
 * happened. A timestamp ahead of our clock counts as now, or a fast clock would keep later news out.
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
