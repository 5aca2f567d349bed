import { spawnSync } from 'node:child_process';
import { type Suite, selectFiles } from './select-files.ts';

/**
 * Runs the test files of a suite, by default one after the other, because they would compete for
 * the machine.
 *
 * @param args file names, then options for Jest
 * @param atOnce how many files run at the same time
 * @returns whether all tests passed
 */
export function runSuite(
  suite: Suite,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  atOnce = 1,
): boolean {
  const { patterns, options } = selectFiles(suite, args);
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      atOnce === 1 ? '--runInBand' : `--maxWorkers=${atOnce}`,
      ...patterns.map((pattern) => `--testPathPatterns=${pattern}`),
      ...options,
    ],
    { stdio: 'inherit', env: { ...process.env, ...environment } },
  );
  return status === 0;
}
