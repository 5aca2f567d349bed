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
