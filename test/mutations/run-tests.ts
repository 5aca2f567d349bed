import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface FailedTest {
  readonly file: string;
  /** Undefined if the file could not be run. */
  readonly name: string | undefined;
}

export interface TestRun {
  readonly passed: boolean;
  /** The first test that failed. Undefined if none failed, or if the time limit was reached. */
  readonly failed: FailedTest | undefined;
  readonly milliseconds: number;
}

/**
 * Runs test files, or one of their tests, one after the other. Stops at the first failure or the
 * time limit.
 */
export async function runTests(
  directory: string,
  files: readonly string[],
  deadlineMilliseconds: number,
  name?: string,
): Promise<TestRun> {
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--bail',
      '--runInBand',
      '--forceExit',
      '--runTestsByPath',
      ...files,
      ...(name === undefined ? [] : ['--testNamePattern', patternOf(name)]),
    ],
    // A separate process group, so that the servers of the tests end with it.
    { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  );
  const endWithUs = () => endGroup(child.pid);
  process.once('exit', endWithUs);
  let report = '';
  child.stderr.on('data', (chunk) => {
    report += chunk;
  });
  const closed = once(child, 'close');
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, deadlineMilliseconds);
  const [code] = await closed;
  clearTimeout(timer);
  endGroup(child.pid);
  process.removeListener('exit', endWithUs);
  return {
    passed: code === 0,
    failed: isLate || code === 0 ? undefined : firstFailure(report),
    milliseconds: Math.round(performance.now() - startedAt),
  };
}

/** If all processes of the group have ended, it needs no signal. */
function endGroup(pid: number | undefined): void {
  try {
    process.kill(-(pid ?? 0), 'SIGKILL');
  } catch {
    return;
  }
}

/** Jest matches the names of a test and its suites, joined by spaces. */
function patternOf(name: string): string {
  return name.replaceAll(' › ', ' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Jest writes `FAIL file`, then `● suite › test` for a test, or `● Test suite failed to run`. */
function firstFailure(report: string): FailedTest {
  const { file, name } =
    /^FAIL (?<file>\S+).*$[\s\S]*?^\s*● (?<name>.+)$/m.exec(report)?.groups ?? {};
  if (file === undefined) {
    throw new Error(`The test run ended without a failed test:\n${report.slice(-2000)}`);
  }
  return { file, name: name === 'Test suite failed to run' ? undefined : name };
}
