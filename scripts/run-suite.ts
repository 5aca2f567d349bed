import { spawnSync } from 'node:child_process';
import { type Suite, selectFiles } from './select-files.ts';

type Variables = Readonly<Record<string, string>>;

/**
 * Runs the test files of a suite one after the other, because they would compete for the machine.
 *
 * @param args file names, then options for Jest
 * @returns whether all tests passed
 */
export function runSuite(suite: Suite, args: readonly string[], environment: Variables): boolean {
  const { patterns, options } = selectFiles(suite, args);
  const selection = patterns.map((pattern) => `--testPathPatterns=${pattern}`);
  return runJest(['--runInBand', ...selection, ...options], environment);
}

/** Runs these test files, `atOnce` of them at the same time. Returns whether all tests passed. */
export function runFiles(
  files: readonly string[],
  atOnce: number,
  environment: Variables,
): boolean {
  return runJest([`--maxWorkers=${atOnce}`, '--runTestsByPath', ...files], environment);
}

function runJest(parameters: readonly string[], environment: Variables): boolean {
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      // Otherwise, a pause of 250 ms makes a request fail where localhost also has the address ::1.
      '--network-family-autoselection-attempt-timeout=5000',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      ...parameters,
    ],
    { stdio: 'inherit', env: { ...process.env, ...environment } },
  );
  return status === 0;
}
