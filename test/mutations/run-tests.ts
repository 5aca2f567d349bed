import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface FailedTest {
  readonly file: string;
  /** Undefined when the file could not be run at all. */
  readonly name: string | undefined;
}

export interface TestRun {
  readonly passed: boolean;
  /** The first test that failed; undefined when none did, or when the time was up. */
  readonly failed: FailedTest | undefined;
  readonly milliseconds: number;
}

/**
 * Runs test files, or one test of them, one after another and stops at the first failure, or when
 * the time is up.
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
      ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
      'node_modules/jest/bin/jest.js',
      ...['--bail', '--runInBand', '--forceExit', '--runTestsByPath', ...files],
      ...(name === undefined ? [] : ['--testNamePattern', patternOf(name)]),
    ],
    // Its own process group, so that the servers it started end with it.
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

/** A group whose processes have all ended already needs no signal. */
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
