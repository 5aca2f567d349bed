import cluster, { type Worker } from 'node:cluster';
import type { MessageFromWorker, Question } from './worker-messages.ts';
import { createWorkerQuestions } from './worker-questions.ts';

const PING_INTERVAL_MILLISECONDS = 1000;
const SILENT_AFTER_PINGS = 2;
/** As long as the health check of a container waits (docs/decisions/02-containers.md). */
const FROZEN_AFTER_PINGS = 10;
/** The first message arrives after the modules are loaded, which takes long on a busy machine. */
const NOT_STARTED_AFTER_PINGS = 90;

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The supervisor killed it, because it sent no answer. */
  readonly frozen: boolean;
  readonly livedMilliseconds: number;
}

/** One worker, from its start to its end. */
export interface WorkerProcess {
  readonly pid: number;
  /** Resolves to false if it ended before it was ready. */
  readonly started: Promise<boolean>;
  readonly ended: Promise<WorkerEnd>;
  /** Only `running` workers share the listener and answer pings. */
  state(): 'starting' | 'running' | 'silent' | 'released' | 'ended';
  /** Open connections at the last ping. */
  connections(): number;
  /** Rejects if no answer arrives in time. */
  ask(question: Omit<Question, 'id'>): Promise<unknown>;
  /** Starts the drain. The worker still accepts connections. */
  end(): void;
  /** Closes the channel. The worker accepts the waiting connections, and ends. */
  release(): void;
  kill(): void;
}

export interface WorkerOptions {
  /** Called with the port, before the worker counts as started. */
  readonly onReady: (port: number) => Promise<void>;
  /** Undefined: any number. */
  readonly connectionLimit: () => number | undefined;
}

export function startWorker({ onReady, connectionLimit }: WorkerOptions): WorkerProcess {
  const worker = cluster.fork();
  const begun = performance.now();
  const questions = createWorkerQuestions(worker);
  let state: ReturnType<WorkerProcess['state']> = 'starting';
  let unanswered = 0;
  let frozen = false;
  let port = 0;
  let connections = 0;

  const kill = () => void worker.process.kill('SIGKILL');
  const started = Promise.withResolvers<boolean>();
  worker.on('listening', (address) => {
    port = address.port;
  });
  worker.on('message', (message: MessageFromWorker) => {
    unanswered = 0;
    if (message === 'ready') {
      onReady(port).then(() => {
        state = 'running';
        started.resolve(true);
      }, started.reject);
    } else if (message !== 'starting') {
      questions.settle(message);
    }
  });

  // Counts pings instead of time, because the whole machine may have been suspended.
  const pings = setInterval(() => {
    unanswered += 1;
    const isStarting = state === 'starting';
    if (unanswered > (isStarting ? NOT_STARTED_AFTER_PINGS : FROZEN_AFTER_PINGS)) {
      frozen = true;
      kill();
    } else if (!isStarting) {
      state = unanswered > SILENT_AFTER_PINGS ? 'silent' : 'running';
      const limit = connectionLimit();
      const question = {
        asks: 'live',
        ...(limit !== undefined && { connectionLimit: limit }),
      } as const;
      questions.ask(question).then(
        (open) => {
          connections = Number(open);
        },
        () => undefined,
      );
    }
  }, PING_INTERVAL_MILLISECONDS);

  const ended = endOf(worker).then((end) => {
    clearInterval(pings);
    state = 'ended';
    started.resolve(false);
    questions.failAll();
    return { ...end, frozen, livedMilliseconds: performance.now() - begun };
  });

  return {
    pid: worker.process.pid ?? 0,
    started: started.promise,
    ended,
    state: () => state,
    connections: () => connections,
    ask: questions.ask,
    end() {
      if (state === 'starting') {
        // Without its channel, it would wait for the listener forever.
        kill();
      } else if (worker.isConnected()) {
        worker.send('end', () => undefined);
      }
    },
    release() {
      clearInterval(pings);
      state = 'released';
      if (worker.isConnected()) {
        worker.process.disconnect();
      }
    },
    kill,
  };
}

function endOf(worker: Worker): Promise<Pick<WorkerEnd, 'code' | 'signal'>> {
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => resolve({ code, signal }));
    worker.on('error', () => {
      // The system could not create the process.
      if (worker.process.pid === undefined) {
        resolve({ code: null, signal: null });
      }
    });
  });
}
