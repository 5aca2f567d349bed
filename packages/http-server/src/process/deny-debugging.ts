import { writeFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';

/** Node options that expose the memory of the process, with every secret (SL-10). */
const DEBUGGING_OPTION =
  /(?:^|\s)--(?:inspect|heapsnapshot|heap-prof|heap-snapshot|report-|abort-on-uncaught)/;

/**
 * Prevents an attacker who can signal or crash this process from reading its memory (SL-10).
 * SIGUSR1 does not open the inspector, and a core dump contains no memory. `debuggerProblem` checks
 * the options.
 */
export function denyDebugging(): void {
  // With this listener, Node does not open port 9229 on the signal.
  process.on('SIGUSR1', () => undefined);
  try {
    // Excludes every mapping (core(5)). Without this file, the settings of the machine apply.
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {}
}

/**
 * Returns why a process with debugging options must not serve a public address.
 *
 * @param options arguments of Node, and NODE_OPTIONS
 */
export function debuggerProblem(options: readonly string[]): string | undefined {
  const asked = options.some((option) => DEBUGGING_OPTION.test(option));
  return asked || inspectorUrl() !== undefined
    ? 'asks Node for a debugger, snapshots or dumps, which show every secret'
    : undefined;
}
