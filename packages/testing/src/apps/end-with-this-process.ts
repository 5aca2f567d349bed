import type { ChildProcess } from 'node:child_process';

const running = new Map<ChildProcess, () => void>();

// One listener for all processes. Node warns of a memory leak if there are more than ten.
process.once('exit', () => {
  for (const end of running.values()) {
    end();
  }
});

/**
 * Ends a program that still runs when this process exits, by default with SIGKILL. Jest does not
 * tell its tests about the exit, so a test must stop what it starts.
 */
export function endWithThisProcess(
  child: ChildProcess,
  end: () => void = () => child.kill('SIGKILL'),
): void {
  running.set(child, end);
  child.once('close', () => running.delete(child));
}
