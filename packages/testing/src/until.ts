import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MILLISECONDS = 20;

/**
 * Repeats an attempt until it returns something other than false.
 *
 * @throws after the deadline: what the attempt threw, or an error that shows the attempt
 */
export async function until(attempt: () => unknown, deadlineSeconds = 15): Promise<void> {
  const deadline = performance.now() + deadlineSeconds * 1000;
  for (;;) {
    let failure: unknown = new Error(`Still false after ${deadlineSeconds} s: ${attempt}`);
    try {
      if ((await attempt()) !== false) {
        return;
      }
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) {
      throw failure;
    }
    await sleep(INTERVAL_MILLISECONDS);
  }
}
