import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { memoryFolder } from '../../scripts/memory-folder.ts';

export type Outcome =
  /** An assertion failed. */
  | 'failed'
  /** An error, a time limit or a crash. A busy machine can be the reason. */
  | 'broken'
  | 'passed';

export interface TestRun {
  readonly outcome: Outcome;
  /** The first line of the failure, or the end of the output if there is no failed test. */
  readonly message: string;
  /** The full title of the failed test. Undefined if no single test failed. */
  readonly test?: string;
  readonly milliseconds: number;
}

/** Runs a test file, or the named test only, until its first failure or the time limit. */
export async function runTests(
  directory: string,
  file: string,
  deadlineMilliseconds: number,
  test?: string,
): Promise<TestRun> {
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--runInBand',
      '--forceExit',
      '--env',
      join(directory, 'test/mutations/stop-at-failure.mjs'),
      '--runTestsByPath',
      file,
      ...(test === undefined ? [] : ['--testNamePattern', exactly(test)]),
    ],
    {
      cwd: directory,
      env: { ...process.env, ...memoryFolder(), SLOW_TESTS: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
      // A separate process group, so that the servers of the tests end with it.
      detached: true,
    },
  );
  const end = () => endGroup(child.pid);
  process.once('exit', end);
  const timer = setTimeout(end, deadlineMilliseconds);
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += chunk;
    if (firstFailure(output) !== undefined) {
      end();
    }
  });
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  end();
  process.removeListener('exit', end);
  const milliseconds = Math.round(performance.now() - startedAt);
  if (code === 0) {
    return { outcome: 'passed', message: '', milliseconds };
  }
  const { isAssertion, ...failure } = firstFailure(output) ?? {
    isAssertion: false,
    message: milliseconds < deadlineMilliseconds ? output.slice(-500) : 'the time limit',
  };
  return { outcome: isAssertion ? 'failed' : 'broken', ...failure, milliseconds };
}

function exactly(text: string): string {
  return `^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
}

/** If all processes of the group have ended, it needs no signal. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) {
    return;
  }
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    return;
  }
}

/** The line of `stop-at-failure.mjs`. */
function firstFailure(output: string) {
  const line = /^FIRST FAILURE (.*)\n/m.exec(output)?.[1];
  return line === undefined
    ? undefined
    : (JSON.parse(line) as { readonly isAssertion: boolean } & Pick<TestRun, 'message' | 'test'>);
}
