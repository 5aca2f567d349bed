import { writeFileSync } from 'node:fs';

/**
 * Prevents an attacker who can signal or crash this process from reading its memory (SL-10).
 * SIGUSR1 does not open the inspector, and a core dump contains no memory. `debuggingProblems`
 * (packages/server) checks the options.
 */
export function denyDebugging(): void {
  // With this listener, Node does not open port 9229 on the signal.
  process.on('SIGUSR1', () => undefined);
  try {
    // Excludes every mapping (core(5)). Without this file, the settings of the machine apply.
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {}
}
