import type { Redis } from 'ioredis';
import { OPERATION_DEADLINE_MILLISECONDS } from '../store.ts';
import { NO_REPLY } from './redis-outage-reason.ts';

const TICK_MILLISECONDS = 50;

/**
 * Rejects an operation that receives no reply in time. Counts ticks instead of time: a process that
 * was paused, or that waits for a busy machine, gets one late tick, and then reads the replies that
 * arrived during the pause.
 *
 * @param run the operation. `isExpired` returns whether its caller has already received the
 * rejection
 */
export function withinDeadline<Reply>(
  milliseconds: number,
  run: (isExpired: () => boolean) => Promise<Reply>,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let remaining = milliseconds;
    let timer = setTimeout(tick, TICK_MILLISECONDS);
    function tick(): void {
      remaining -= TICK_MILLISECONDS;
      if (remaining > 0) {
        timer = setTimeout(tick, Math.min(remaining, TICK_MILLISECONDS));
      } else {
        reject(new Error(NO_REPLY));
      }
    }
    run(() => remaining <= 0).then(
      (reply) => {
        clearTimeout(timer);
        resolve(reply);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

const SILENT_TICKS = OPERATION_DEADLINE_MILLISECONDS / TICK_MILLISECONDS;

/**
 * Closes a connection with waiting commands that returned no byte for the time of one operation, so
 * that further commands do not wait behind them. Counts ticks instead of time: a process that was
 * paused gets one late tick, and then reads the replies that arrived during the pause.
 *
 * @param connections returns the current connections: one, or one for each node of a cluster
 * @returns a function that stops the check
 */
export function closeSilentConnections(connections: () => readonly Redis[]): () => void {
  const silences = new WeakMap<Redis['stream'], { bytesRead: number; ticks: number }>();

  function check(connection: Redis): void {
    const { stream } = connection;
    const { bytesRead } = stream;
    // Private in the types of ioredis: the commands that wait for a reply, those of a handshake too.
    const waiting = (connection as unknown as { commandQueue: unknown[] }).commandQueue.length;
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
