import { spawnSync } from 'node:child_process';
import { type Suite, selectFiles } from './select-files.ts';

/**
 * Runs the test files of a suite one after the other, because they would compete for the machine.
 *
 * @param args file names, then options for Jest
 * @returns whether all tests passed
 */
export function runSuite(
  suite: Suite,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): boolean {
  const { patterns, options } = selectFiles(suite, args);
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--runInBand',
      ...patterns.map((pattern) => `--testPathPatterns=${pattern}`),
      ...options,
    ],
    { stdio: 'inherit', env: { ...process.env, ...environment } },
  );
  return status === 0;
}
