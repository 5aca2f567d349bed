import type { Redis } from 'ioredis';
import { OPERATION_DEADLINE_MILLISECONDS } from '../../port/limits.ts';
import { NO_REPLY } from './redis-outage-reason.ts';

const TICK_MILLISECONDS = 50;
const SILENT_TICKS = OPERATION_DEADLINE_MILLISECONDS / TICK_MILLISECONDS;

interface Silence {
  bytesRead: number;
  ticks: number;
}

/**
 * Private in the types of ioredis: the commands that wait for a reply, those of a handshake too.
 */
interface WithQueue {
  readonly commandQueue: { readonly length: number };
}

/**
 * Closes a connection with waiting commands that returned no byte for the time of one operation, so
 * that further commands do not wait behind them. Counts ticks instead of time: a process that was
 * paused gets one late tick, and then reads the replies that arrived during the pause.
 *
 * @param connections returns the current connections: one, or one for each node of a cluster
 * @returns a function that stops the check
 */
export function closeSilentConnections(connections: () => readonly Redis[]): () => void {
  const silences = new WeakMap<Redis['stream'], Silence>();

  function check(connection: Redis): void {
    const { stream } = connection;
    const { bytesRead } = stream;
    const waiting = (connection as unknown as WithQueue).commandQueue.length;
    const silence = silences.get(stream);
    if (waiting === 0 || silence === undefined || silence.bytesRead !== bytesRead) {
      silences.set(stream, { bytesRead, ticks: 0 });
    } else {
      silence.ticks += 1;
      if (silence.ticks > SILENT_TICKS) {
        stream.destroy(new Error(NO_REPLY));
      }
    }
  }

  const timer = setInterval(() => {
    for (const connection of connections()) {
      // Undefined before the first connection.
      if (connection.stream !== undefined && !connection.stream.destroyed) {
        check(connection);
      }
    }
  }, TICK_MILLISECONDS).unref();
  return () => clearInterval(timer);
}
