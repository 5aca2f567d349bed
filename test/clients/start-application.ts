import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { processEnvironment, until } from '@gatehouse/testing';

export interface Application {
  /** Everything that the program printed so far. */
  output(): string;
  stop(): Promise<void>;
}

const folder = join(import.meta.dirname, 'applications');
const START_SECONDS = 30;

/** Starts a program of `applications/` and waits until it prints `listening`. */
export async function startApplication(
  command: readonly [program: string, ...args: string[]],
  environment: Readonly<Record<string, string>>,
): Promise<Application> {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...processEnvironment, ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  try {
    await until(() => {
      if (child.exitCode !== null) {
        throw new Error(`${command.join(' ')} ended:\n${output}`);
      }
      return output.includes('listening');
    }, START_SECONDS);
  } catch (error) {
    await stop();
    throw error;
  }
  return { output: () => output, stop };
}
