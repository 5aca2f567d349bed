import { NO_REPLY } from './redis-outage-reason.ts';

/**
 * Rejects an operation that receives no reply in time. After a pause of this process, the timer
 * fires before Node reads the replies that have already arrived, and a busy machine pauses Redis
 * too. Therefore, a timer that fires late waits again for as long as it was late.
 *
 * @param run the operation. `isExpired` returns whether its caller has already received the
 * rejection
 */
export function withinDeadline<Reply>(
  milliseconds: number,
  run: (isExpired: () => boolean) => Promise<Reply>,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let expired = false;
    const due = performance.now() + milliseconds;
    const expire = () => {
      expired = true;
      reject(new Error(NO_REPLY));
    };
    let timer = setTimeout(() => {
      const lateness = Math.max(performance.now() - due, 0);
      timer = setTimeout(expire, Math.min(lateness, milliseconds));
    }, milliseconds);
    run(() => expired).then(
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
