import { writeFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import type { ConfigurationProblem } from './configuration-error.ts';
import type { Environment } from './environment.ts';
import { isLoopbackUrl } from './variable-kinds.ts';

/** Node options that expose the memory of the process, with every secret. */
const DEBUGGING_OPTION =
  /(?:^|\s)--(?:inspect|heapsnapshot|heap-prof|heap-snapshot|report-|abort-on-uncaught)/;

/** A process with a debugger must not serve a public address. */
export function debuggingProblems(
  publicUrl: string,
  { NODE_OPTIONS = '' }: Environment,
): readonly ConfigurationProblem[] {
  const options = [...process.execArgv, NODE_OPTIONS].join(' ');
  const isExposed = DEBUGGING_OPTION.test(options) || inspectorUrl() !== undefined;
  const message = 'asks Node for a debugger, snapshots or dumps, which show every secret';
  return isExposed && !isLoopbackUrl(publicUrl) ? [{ name: 'NODE_OPTIONS', message }] : [];
}

/**
 * Prevents an attacker who can signal or crash this process from reading its memory.
 * SIGUSR1 does not open the inspector, and a core dump contains no memory. `debuggingProblems`
 * checks the options.
 */
export function denyDebugging(): void {
  // With this listener, Node does not open port 9229 on the signal.
  process.on('SIGUSR1', () => undefined);
  try {
    // Excludes every mapping (core(5)). Without this file, the settings of the machine apply.
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {}
}
