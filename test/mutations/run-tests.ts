import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export interface TestRun {
  readonly passed: boolean;
  /** The first test that failed, or what else ended the run. */
  readonly reason: string;
  readonly milliseconds: number;
}

interface JestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Runs test files one after another and stops at the first failure, or when the time is up. */
export async function runTests(
  directory: string,
  files: readonly string[],
  deadlineMilliseconds: number,
): Promise<TestRun> {
  const report = join(directory, 'mutation-report.json');
  rmSync(report, { force: true });
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    [
      ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
      'node_modules/jest/bin/jest.js',
      ...['--bail', '--runInBand', '--forceExit', '--json', '--outputFile', report],
      ...['--runTestsByPath', ...files],
    ],
    // Its own process group, so that the servers it started end with it.
    { cwd: directory, stdio: 'ignore', detached: true },
  );
  const closed = once(child, 'close');
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, deadlineMilliseconds);
  const [code] = await closed;
  clearTimeout(timer);
  endGroup(child.pid);
  return {
    passed: code === 0,
    reason: isLate ? 'the time limit' : code === 0 ? '' : firstFailure(report),
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

function firstFailure(report: string): string {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as JestReport;
    const failed = testResults.flatMap(({ name, message, assertionResults }) => {
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      const what = tests[0]?.fullName ?? message.split('\n', 1)[0] ?? '';
      return tests.length > 0 || (assertionResults.length === 0 && message !== '')
        ? [`${name.split('/').pop()}: ${what}`]
        : [];
    });
    return failed[0] ?? 'an unknown failure';
  } catch {
    return 'the test run ended without a report';
  }
}
