import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { endWithThisProcess } from './end-with-this-process.ts';
import { processEnvironment } from './process-environment.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');

export type AppName = 'authorization-server' | 'gateway' | 'device-service';

/** An app in a separate process, as an operator runs it. */
export interface AppProcess {
  readonly pid: number;
  /** The output so far. */
  output(): string;
  /** Sends SIGTERM and resolves to the exit code. */
  stop(): Promise<number | null>;
  /** Sends a second signal immediately, so that the app writes its log but does not drain. */
  stopWithoutDraining(): Promise<void>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
}

/**
 * Starts an app and waits until it listens. Its environment contains the given variables and those
 * that every process inherits.
 *
 * @param source the root of the source tree, by default of this one
 * @throws Error with the output of the process if it ends before it listens
 */
export async function startApp(
  app: AppName,
  environment: Readonly<Record<string, string>>,
  source: string = root,
): Promise<AppProcess> {
  const child = spawn(process.execPath, [join(source, 'apps', app, 'src', 'main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...processEnvironment, ...environment },
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  const closed = once(child, 'close');
  endWithThisProcess(child);
  await Promise.race([
    once(child, 'message'),
    closed.then(() => {
      throw new Error(`${app} ended with ${child.exitCode} instead of starting:\n${output}`);
    }),
  ]);
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
    }
    await closed;
    return child.exitCode;
  };
  return {
    pid: child.pid ?? 0,
    output: () => output,
    stop: () => end('SIGTERM'),
    stopWithoutDraining: async () => {
      const ended = end('SIGTERM');
      child.kill('SIGINT');
      await ended;
    },
    kill: async () => {
      await end('SIGKILL');
    },
  };
}
