import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

const TASKS = '/proc/self/task';
const POOL_THREAD = 'libuv-worker';
/** A larger value is a lower priority. */
const STEP = 10;

/**
 * Gives the threads that hash passwords a lower priority, so that a flood of sign-ins uses every
 * idle core and no other request waits for one. They exist after the first hash has started. Only
 * Linux has a priority for each thread.
 */
export function yieldToMainThread(): void {
  try {
    // The process itself may have been started with a lower priority.
    const lowered = Math.min(getPriority() + STEP, constants.priority.PRIORITY_LOW);
    for (const thread of readdirSync(TASKS)) {
      if (nameOf(thread) === POOL_THREAD) {
        setPriority(Number(thread), lowered);
      }
    }
  } catch {
    // Not Linux.
  }
}

function nameOf(thread: string): string {
  return readFileSync(`${TASKS}/${thread}/comm`, 'utf8').trim();
}
