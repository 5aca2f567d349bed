import { writeFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';

/** What would write the memory, with every secret in it, to a file, or let somebody look at it (SL-10). */
const DEBUGGING_OPTION =
  /(?:^|\s)--(?:inspect|heapsnapshot|heap-prof|heap-snapshot|report-|abort-on-uncaught)/;

/**
 * Shuts the ways by which somebody who may signal or crash this process reads its memory (SL-10): SIGUSR1 does
 * not open the inspector, and a core dump holds no memory. That no flag asks for more: `debuggerProblem`.
 */
export function denyDebugging(): void {
  // A listener takes the signal away from Node, whose own would open port 9229 to anybody on this machine.
  process.on('SIGUSR1', () => undefined);
  try {
    // No mapping of any kind (core(5)). Where there is no such file, the machine's own settings are what counts.
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {}
}

/**
 * Why this process must not serve a public address: it was started to be debugged.
 *
 * @param options of Node: its arguments, and NODE_OPTIONS
 */
export function debuggerProblem(options: readonly string[]): string | undefined {
  const asked = options.some((option) => DEBUGGING_OPTION.test(option));
  return asked || inspectorUrl() !== undefined
    ? 'asks Node for a debugger, snapshots or dumps, which show every secret'
    : undefined;
}
