import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:http';
import { join } from 'node:path';
import { parseMetrics, until } from '@gatehouse/testing';

export interface WorkerAppOptions {
  readonly workers: number;
  readonly socketPath?: string;
  readonly shutdownDelayMilliseconds?: number;
  /**
   * While this file exists, no worker starts. With `-signal`, each is killed during its start. With
   * `-after-start`, each ends after its start.
   */
  readonly trouble?: string;
}

/** A running `worker-app.ts`. */
export type WorkerApp = Awaited<ReturnType<typeof runWorkerApp>>;

/** A test starts several processes, which takes long on a busy machine. */
export const untilSlow = (attempt: () => unknown) => until(attempt, 60);

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
export async function runWorkerApp(options: WorkerAppOptions) {
  const program = join(import.meta.dirname, 'worker-app.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  started.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      output += data.toString();
    });
  }
  const exit = once(child, 'exit').then(([code, signal]) => code ?? signal);
  /** The log lines with this message. */
  const lines = (message: string): readonly Readonly<Record<string, unknown>>[] =>
    output
      .split('\n')
      .filter((line) => line.includes(`"msg":"${message}`))
      .map((line) => JSON.parse(line));
  await untilSlow(() => child.exitCode !== null || lines('listening').length > 0);
  const [at] = lines('listening');
  const { socketPath } = options;
  const place = socketPath === undefined ? { port: Number(at?.port) } : { socketPath };
  /** The processes that serve requests. */
  const workers = () => childrenOf(child.pid ?? 0);
  /** Sends a request on a new connection. Resolves to the body, or to the code of the error. */
  const get = (path: string): Promise<string> =>
    send({ ...place, path }).then(
      ({ text }) => text,
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
  const operations = (path: string) => send({ port: Number(at?.operationsPort), path });
  return {
    ...{ child, exit, lines, workers, get, operations },
    output: () => output,
    async readyState(): Promise<string> {
      const { status, text } = await operations('/ready');
      return `${status} ${JSON.parse(text).checks?.workers ?? JSON.parse(text).status}`;
    },
    async sampleOf(name: string): Promise<number> {
      const families = parseMetrics((await operations('/metrics')).text);
      const samples = families.get(name)?.samples ?? [];
      return samples.reduce((sum, { value }) => sum + value, 0);
    },
    /** Sends requests until every worker has answered one. */
    async everyWorkerAnswers() {
      const seen = new Set<number>();
      await untilSlow(async () => {
        for (const reply of await Promise.all(Array.from({ length: 20 }, () => get('/')))) {
          seen.add(Number.parseInt(reply, 10));
        }
        return workers().every((pid) => seen.has(pid));
      });
    },
    /** Sends requests on new connections, some at a time, until it is stopped. */
    load(path = '/') {
      let stopped = false;
      const outcomes: string[] = [];
      const sending = Array.from({ length: 4 }, async () => {
        while (!stopped) {
          outcomes.push(await get(path));
        }
      });
      return {
        outcomes,
        /** Resolves to the outcomes without a reply. */
        async stop(): Promise<readonly string[]> {
          stopped = true;
          await Promise.all(sending);
          return outcomes.filter((outcome) => !outcome.endsWith('127.0.0.1'));
        },
      };
    },
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

function send(options: RequestOptions): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', agent: false, ...options }, (reply) => {
      reply.toArray().then((chunks) => {
        resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
      }, reject);
    });
    sending.on('error', reject).end();
  });
}
