import type { Redis } from 'ioredis';
import { OPERATION_DEADLINE_MILLISECONDS } from '../../port/limits.ts';
import { NO_REPLY } from './redis-outage-reason.ts';

const TICK_MILLISECONDS = 50;
const SILENT_TICKS = OPERATION_DEADLINE_MILLISECONDS / TICK_MILLISECONDS;

interface Silence {
  bytesRead: number;
  bytesWritten: number;
  ticks: number;
}

/**
 * Closes a connection that got commands and returned no byte for the time of one operation, so that
 * further commands do not wait behind them. Counts ticks instead of time: a process that was paused
 * gets one late tick, and then reads the replies that arrived during the pause.
 *
 * @param connections returns the current connections: one, or one for each node of a cluster
 * @returns a function that stops the check
 */
export function closeSilentConnections(connections: () => readonly Redis[]): () => void {
  const silences = new WeakMap<Redis['stream'], Silence>();

  function check(stream: Redis['stream']): void {
    const { bytesRead, bytesWritten } = stream;
    const silence = silences.get(stream);
    if (silence === undefined || silence.bytesRead !== bytesRead) {
      silences.set(stream, { bytesRead, bytesWritten, ticks: 0 });
    } else if (bytesWritten > silence.bytesWritten) {
      silence.ticks += 1;
      if (silence.ticks > SILENT_TICKS) {
        stream.destroy(new Error(NO_REPLY));
      }
    }
  }

  const timer = setInterval(() => {
    for (const { stream } of connections()) {
      // Undefined before the first connection.
      if (stream !== undefined && !stream.destroyed) {
        check(stream);
      }
    }
  }, TICK_MILLISECONDS).unref();
  return () => clearInterval(timer);
}
