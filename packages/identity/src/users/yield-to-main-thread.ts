import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';

const TASKS = '/proc/self/task';
const POOL_THREAD = 'libuv-worker';
const LOWERED = 10;

/**
 * Gives the threads that hash passwords a lower priority, so that a flood of sign-ins uses every
 * idle core and no other request waits for one. They exist after the first hash has started. Only
 * Linux has a priority for each thread.
 */
export function yieldToMainThread(): void {
  try {
    for (const thread of readdirSync(TASKS)) {
      if (nameOf(thread) === POOL_THREAD) {
        setPriority(Number(thread), LOWERED);
      }
    }
  } catch {
    // Not Linux, or the process already has a lower priority.
  }
}

function nameOf(thread: string): string {
  return readFileSync(`${TASKS}/${thread}/comm`, 'utf8').trim();
}
