import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { familyOf } from './processor-time.ts';

/** Separated by commas. Instructions and cache misses depend less on other load than time does. */
const EVENTS = process.env.PERF_EVENTS ?? '';

/**
 * The wanted events that `perf` can count on this machine. Virtual machines often have no hardware
 * counters.
 */
export function availableEvents(): readonly string[] {
  if (EVENTS === '') {
    return [];
  }
  const { stderr } = spawnSync('perf', ['stat', '-x,', '-e', EVENTS, '--', 'true'], {
    encoding: 'utf8',
  });
  return Object.keys(countsIn(stderr ?? ''));
}

/** Counts events of other processes, with their descendants, while a command runs. */
export function openEventCounter(events: readonly string[], pids: readonly number[], file: string) {
  const counted = ['-e', events.join(','), '-p', pids.flatMap(familyOf).join(',')];
  return {
    /** Append the command to run. */
    command: ['perf', 'stat', '-x,', '-o', file, ...counted, '--'],
    /** Counts by event. */
    read: (): Readonly<Record<string, number>> => countsIn(readFileSync(file, 'utf8')),
  };
}

/**
 * Reads lines of `value,unit,event,…`. The value is text, such as `<not supported>`, if perf cannot
 * count the event.
 */
function countsIn(output: string): Record<string, number> {
  const rows = output.split('\n').map((line) => line.split(','));
  return Object.fromEntries(
    rows
      .map(
        ([value = '', , event = '']) => [event, value === '' ? Number.NaN : Number(value)] as const,
      )
      .filter(([, count]) => !Number.isNaN(count)),
  );
}
