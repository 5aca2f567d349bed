import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { endWithThisProcess, processEnvironment, until } from '@gatehouse/testing';

export interface Application {
  /** The output of the program so far. */
  output(): string;
  /** Writes a line to the input of the program, and returns the line of JSON that it prints. */
  ask(line: string): Promise<Readonly<Record<string, unknown>>>;
  stop(): Promise<void>;
}

const folder = join(import.meta.dirname, 'applications');
const START_SECONDS = 15;

/** Starts a program, by default in `applications/`, and waits until its output contains a text. */
export async function startApplication(
  command: readonly [program: string, ...args: string[]],
  environment: Readonly<Record<string, string>>,
  readyText = 'listening',
  cwd = folder,
): Promise<Application> {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd,
    env: { ...processEnvironment, ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close');
  endWithThisProcess(child, () => child.kill('SIGTERM'));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  try {
    await until(() => {
      if (child.exitCode !== null) {
        throw new Error(`${command.join(' ')} ended:\n${output}`);
      }
      return output.includes(readyText);
    }, START_SECONDS);
  } catch (error) {
    await stop();
    throw error;
  }
  const ask = async (line: string) => {
    const before = output.length;
    child.stdin.write(`${line}\n`);
    await until(() => output.slice(before).endsWith('\n') || child.exitCode !== null);
    const reply = output.slice(before);
    if (!reply.startsWith('{')) {
      throw new Error(`${command.join(' ')} failed:\n${reply}`);
    }
    return JSON.parse(reply);
  };
  return { output: () => output, ask, stop };
}
