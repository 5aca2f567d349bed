import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:http';
import { join } from 'node:path';
import { until } from '@gatehouse/testing';

export interface WorkerAppOptions {
  readonly workers: number;
  readonly socketPath?: string;
  readonly shutdownDelayMilliseconds?: number;
  /**
   * While this file exists, no worker starts. With `-once`, only the next one does not. With
   * `-signal`, each is killed during its start. With `-after-start`, each ends after its start.
   */
  readonly trouble?: string;
  /** Time that the first start takes. */
  readonly migrationMilliseconds?: number;
  /** Time that the check of its readiness takes. */
  readonly checkMilliseconds?: number;
}

/** A running `worker-app.ts`. */
export interface WorkerApp {
  readonly child: ChildProcess;
  readonly exit: Promise<number | string | null>;
  output(): string;
  /** The log lines with this message. */
  lines(message: string): readonly Readonly<Record<string, unknown>>[];
  /** The processes that serve requests. */
  workers(): readonly number[];
  /** Sends a request on a new connection. Resolves to the body, or to the code of the error. */
  get(path: string): Promise<string>;
  /** Sends a request to the operations port. */
  operations(path: string): Promise<{ readonly status: number; readonly text: string }>;
}

const started: ChildProcess[] = [];

/** Ends what a test has left running. */
export function killWorkerApps(): void {
  for (const { pid } of started.splice(0)) {
    try {
      process.kill(-(pid ?? 0), 'SIGKILL');
    } catch {
      // The whole group has ended.
    }
  }
}

/** Starts the app in its own process group, and waits until it listens or ends. */
export async function runWorkerApp(options: WorkerAppOptions): Promise<WorkerApp> {
  const program = join(import.meta.dirname, 'worker-app.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  started.push(child);
  let output = '';
  const append = (data: Buffer) => {
    output += data.toString();
  };
  child.stdout.on('data', append);
  child.stderr.on('data', append);
  const exit = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const lines = (message: string) =>
    output
      .split('\n')
      .filter((line) => line.includes(`"msg":"${message}`))
      .map((line) => JSON.parse(line));
  const deadlineSeconds = 60 + (options.migrationMilliseconds ?? 0) / 1000;
  await until(() => child.exitCode !== null || lines('listening').length > 0, deadlineSeconds);
  const [at] = lines('listening');
  return {
    child,
    exit,
    output: () => output,
    lines,
    workers: () => childrenOf(child.pid ?? 0),
    get: (path) =>
      send(
        options.socketPath === undefined
          ? { port: Number(at?.port), host: '127.0.0.1', path, agent: false }
          : { socketPath: options.socketPath, path, agent: false },
      ).then(
        ({ text }) => text,
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      ),
    operations: (path) =>
      send({ port: Number(at?.operationsPort), host: '127.0.0.1', path, agent: false }),
  };
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function send(
  options: RequestOptions,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const sending = request(options);
    sending.on('error', reject);
    sending.on('response', (reply) => {
      reply
        .toArray()
        .then(
          (chunks) =>
            resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          reject,
        );
    });
    sending.end();
  });
}
