import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { processEnvironment } from './process-environment.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');

export type AppName = 'authorization-server' | 'gateway' | 'device-service';

/** One app as a process of its own, as an operator runs it. */
export interface AppProcess {
  readonly pid: number;
  /** Everything it wrote so far. */
  output(): string;
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/**
 * Starts an app and waits until it listens. The environment is exactly what is given, and what every process inherits.
 *
 * @throws Error with the process's output when it ends instead
 */
export async function startApp(
  app: AppName,
  environment: Readonly<Record<string, string>>,
): Promise<AppProcess> {
  const child = spawn(process.execPath, [join(root, 'apps', app, 'src', 'main.ts')], {
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
  const killOnExit = () => child.kill('SIGKILL');
  process.once('exit', killOnExit);
  child.once('close', () => process.removeListener('exit', killOnExit));
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
    kill: async () => {
      await end('SIGKILL');
    },
  };
}
