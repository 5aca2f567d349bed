import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';

export const CORE_MEASURED = 0;
export const CORE_LOAD = 1;

const children: ChildProcess[] = [];

export interface StartOptions {
  readonly env?: Record<string, string>;
  /** The file that gets the output. */
  readonly log?: string;
}

/** Starts a process, on one core or on any. */
export function start(
  core: number | undefined,
  command: string,
  args: readonly string[],
  options: StartOptions = {},
): ChildProcess {
  const output = options.log === undefined ? 'ignore' : openSync(options.log, 'a');
  const [program = '', ...rest] =
    core === undefined ? [command, ...args] : ['taskset', '-c', String(core), command, ...args];
  const child = spawn(program, rest, {
    stdio: ['ignore', output, 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH ?? '',
      // For a profile, set CHILD_OPTIONS='--cpu-prof --cpu-prof-dir=…'.
      ...(process.env.CHILD_OPTIONS && { NODE_OPTIONS: process.env.CHILD_OPTIONS }),
      ...options.env,
    },
  });
  children.push(child);
  return child;
}

/** Starts a script, and waits until it reports over IPC that it listens. */
export async function startNode(
  core: number | undefined,
  script: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<ChildProcess> {
  const child = start(core, process.execPath, [script, ...args], options);
  await Promise.race([
    once(child, 'message'),
    once(child, 'close').then(() => {
      throw new Error(`${script} ended before it listened.`);
    }),
  ]);
  return child;
}

/** Sends SIGTERM, and waits for the end. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    await closed;
  }
}

export async function stopAll(): Promise<void> {
  await Promise.all(children.splice(0).map(stop));
}
