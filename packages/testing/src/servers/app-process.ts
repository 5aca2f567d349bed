import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..', '..');

export type AppName = 'authorization-server' | 'gateway' | 'device-service' | 'console';

/** An app in a separate process, as an operator runs it. */
export type AppProcess = Awaited<ReturnType<typeof startApp>>;

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
) {
  const child = spawn(process.execPath, [join(source, 'apps', app, 'src', 'main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...processEnvironment, ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
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
    /** The output so far. */
    output: () => output,
    /** Sends SIGTERM and resolves to the exit code. */
    stop: () => end('SIGTERM'),
    /** Sends a second signal immediately, so that the app writes its log but does not drain. */
    stopWithoutDraining() {
      const ended = end('SIGTERM');
      child.kill('SIGINT');
      return ended;
    },
    kill: () => end('SIGKILL'),
  };
}

/** Variables that every test process inherits: the program path and the compile cache of Node. */
export const processEnvironment: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
};

const running = new Map<ChildProcess, () => void>();

// One listener for all processes. Node warns of a memory leak if there are more than ten.
process.once('exit', () => {
  for (const end of running.values()) {
    end();
  }
});

/**
 * Ends a program that still runs when this process exits, by default with SIGKILL. Jest does not
 * tell its tests about the exit, so a test must stop what it starts.
 */
export function endWithThisProcess(
  child: ChildProcess,
  end: () => void = () => child.kill('SIGKILL'),
): void {
  running.set(child, end);
  child.once('close', () => running.delete(child));
}
