import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { familyOf } from './processor-time.ts';

/** Instructions and cache misses depend less on other load than time does. */
const EVENTS = process.env.PERF_EVENTS ?? 'instructions,cache-misses';

/** The events that `perf` can count here. Virtual machines often have no hardware counters. */
export function availableEvents(): readonly string[] {
  const { stderr } = spawnSync('perf', ['stat', '-x,', '-e', EVENTS, '--', 'true'], {
    encoding: 'utf8',
  });
  return Object.keys(countsIn(stderr ?? ''));
}

/** Counts events of other processes, with their descendants, while a command runs. */
export function openEventCounter(events: readonly string[], pids: readonly number[]) {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-perf-'));
  const file = join(directory, 'counts');
  const counted = ['-e', events.join(','), '-p', pids.flatMap(familyOf).join(',')];
  return {
    /** Runs the command that follows. */
    command: ['perf', 'stat', '-x,', '-o', file, ...counted, '--'],
    /** Counts by event. */
    close(): Readonly<Record<string, number>> {
      const counts = countsIn(readFileSync(file, 'utf8'));
      rmSync(directory, { recursive: true });
      return counts;
    },
  };
}

/** Lines of `value,unit,event,…`, whose value is a text if perf counts no such event. */
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
