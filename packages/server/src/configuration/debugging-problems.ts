import { url as inspectorUrl } from 'node:inspector';
import type { ConfigurationProblem } from './configuration-error.ts';
import type { Environment } from './environment.ts';
import { isLoopbackUrl } from './loopback-url.ts';

/** Node options that expose the memory of the process, with every secret (SL-10). */
const DEBUGGING_OPTION =
  /(?:^|\s)--(?:inspect|heapsnapshot|heap-prof|heap-snapshot|report-|abort-on-uncaught)/;

/** A process with a debugger must not serve a public address. */
export function debuggingProblems(
  publicUrl: string,
  { NODE_OPTIONS = '' }: Environment,
): readonly ConfigurationProblem[] {
  const options = [...process.execArgv, NODE_OPTIONS];
  const isExposed =
    options.some((option) => DEBUGGING_OPTION.test(option)) || inspectorUrl() !== undefined;
  if (!isExposed || isLoopbackUrl(publicUrl)) {
    return [];
  }
  const message = 'asks Node for a debugger, snapshots or dumps, which show every secret';
  return [{ name: 'NODE_OPTIONS', message }];
}
