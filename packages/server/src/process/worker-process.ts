/** One worker, as its supervisor sees it, the messages between both, and its answers. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Operations } from '../server/operations.ts';

const PING_INTERVAL_MILLISECONDS = 1000;
const SILENT_AFTER_PINGS = 2;
/** As long as the health check of a container waits (docs/decisions/02-containers.md). */
const FROZEN_AFTER_PINGS = 10;
/** The first message arrives after the modules are loaded, which takes long on a busy machine. */
const NOT_STARTED_AFTER_PINGS = 90;
/** Longer than the deadline of a readiness check, and within that of a probe of Kubernetes. */
const ANSWER_DEADLINE_MILLISECONDS = 900;

/** A message from the supervisor: a question, or the order to end. */
export type MessageToWorker = Question | 'end';

interface Question {
  readonly id: number;
  readonly asks: 'live' | 'readiness' | 'metrics' | 'document';
  /** Of a document. */
  readonly path: string;
}

/** A message from a worker: `starting` every second until it is `ready`, then answers. */
export type MessageFromWorker = Answer | 'starting' | 'ready';

interface Answer {
  readonly id: number;
  readonly value: unknown;
}

export type WorkerProcess = ReturnType<typeof startWorker>;

export function startWorker() {
  // Every open question listens for an error.
  const worker = cluster.fork().setMaxListeners(0);
  const started = Promise.withResolvers<boolean>();
  let state: 'starting' | 'running' | 'released' | 'ended' = 'starting';
  let unanswered = 0;
  let frozen = false;
  let port = 0;

  const kill = () => void worker.process.kill('SIGKILL');
  worker.on('listening', (address) => {
    port = address.port;
  });
  worker.on('message', (message: MessageFromWorker) => {
    unanswered = 0;
    if (message === 'ready') {
      state = 'running';
      started.resolve(true);
    } else if (message !== 'starting') {
      worker.emit(`answer ${message.id}`, message);
    }
  });
  // Counts pings instead of time, because the whole machine may have been suspended.
  const pings = setInterval(() => {
    unanswered += 1;
    if (unanswered > (state === 'starting' ? NOT_STARTED_AFTER_PINGS : FROZEN_AFTER_PINGS)) {
      frozen = true;
      kill();
    } else if (state !== 'starting') {
      ask(worker, 'live').catch(() => undefined);
    }
  }, PING_INTERVAL_MILLISECONDS);
  const ended = endOf(worker).then((end) => {
    clearInterval(pings);
    state = 'ended';
    started.resolve(false);
    return { ...end, frozen };
  });
  return {
    pid: worker.process.pid ?? 0,
    port: () => port,
    /** Resolves to false if it ended before it was ready. */
    started: started.promise,
    /** `frozen`: the supervisor killed it, because it sent no answer. */
    ended,
    state: () => state,
    /** It shares the listener and answers pings. */
    isRunning: () => state === 'running' && unanswered <= SILENT_AFTER_PINGS,
    ask: (asks: Question['asks'], path?: string) => ask(worker, asks, path),
    /** Starts the drain. The worker still accepts connections. */
    end() {
      if (state === 'starting') {
        // Without its channel, it would wait for the listener forever.
        kill();
      } else if (worker.isConnected()) {
        worker.send('end', () => undefined);
      }
    },
    /** Closes the channel. The worker accepts the waiting connections, and ends. */
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

let asked = 0;

/** Rejects if no answer arrives in time: the worker failed to find it, is frozen or has ended. */
async function ask(worker: Worker, asks: Question['asks'], path = ''): Promise<unknown> {
  asked += 1;
  const signal = AbortSignal.timeout(ANSWER_DEADLINE_MILLISECONDS);
  const answered = once(worker, `answer ${asked}`, { signal });
  // With a callback, a closed channel is no error.
  worker.send({ id: asked, asks, path }, () => undefined);
  const [{ value }] = (await answered) as [Answer];
  return value;
}

function endOf(worker: Worker): Promise<{ code: number | null; signal: string | null }> {
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

/**
 * Resolves when no new connections can arrive: the supervisor has closed the listener that all
 * workers share, and then the channel. The kernel gives each connection to one of the workers.
 */
export async function untilListenerCloses(): Promise<void> {
  if (process.connected) {
    await once(process, 'disconnect');
  }
}

/** Answers the supervisor. A worker has no operations port, so the questions use its channel. */
export function answerSupervisor(operations: Operations): undefined {
  process.on('message', (message: MessageToWorker) => {
    if (message === 'end') {
      return;
    }
    const { id, asks, path } = message;
    const answering = asks === 'live' ? Promise.resolve(true) : operations[asks](path);
    answering.then(
      // Without a callback, an answer after the channel has closed would end the worker.
      (value) => process.send?.({ id, value }, undefined, undefined, () => undefined),
      () => undefined,
    );
  });
}
