import cluster from 'node:cluster';
import { denyDebugging } from '../configuration/debugging.ts';
import type { Logger } from '../telemetry/logger.ts';
import { StartReportedError } from '../workers/start-reported-error.ts';
import type { MessageFromWorker, MessageToWorker } from '../workers/worker-messages.ts';

export interface RunningApp {
  /** Drains and releases all resources, in reverse order of opening. */
  close(): Promise<void>;
}

/** CF-02: the process ends within 10 s in every case. */
const EXIT_DEADLINE_MILLISECONDS = 9_500;
const STARTING_INTERVAL_MILLISECONDS = 1000;
/** npm passes on a signal that Ctrl-C or systemd has already sent to every process of the group. */
const SAME_SIGNAL_MILLISECONDS = 500;

export interface RunOptions {
  /** Time for `close`. After it, the process ends. */
  readonly exitDeadlineMilliseconds?: number;
}

/**
 * Runs one server process: start, report ready, wait for the end, drain, exit.
 *
 * SIGTERM, SIGINT or the end of the supervisor (its IPC channel closes) starts the drain. A second
 * signal, a failed drain or a drain that takes too long ends the process with exit code 1. The same
 * signal again within half a second does not count as a second one.
 */
export async function runProcess(
  start: () => Promise<RunningApp>,
  describeRefusal: (error: unknown) => string,
  options: RunOptions = {},
): Promise<void> {
  denyDebugging();
  const isSupervised = process.send !== undefined;
  const starting = cluster.isWorker ? reportStarting() : undefined;
  let app: RunningApp;
  try {
    app = await start();
    clearInterval(starting);
  } catch (error) {
    exit(1, error instanceof StartReportedError ? undefined : describeRefusal(error));
  }
  let ending = false;
  const end = () => {
    if (ending) {
      return;
    }
    ending = true;
    setTimeout(
      () => exit(1, 'Ended without waiting any longer.'),
      options.exitDeadlineMilliseconds ?? EXIT_DEADLINE_MILLISECONDS,
    );
    app.close().then(
      () => exit(0),
      (error: unknown) => exit(1, `Could not close in order: ${String(error)}`),
    );
  };
  if (cluster.isWorker) {
    endWithSupervisor(end);
    return;
  }
  // Only signals count, because at Ctrl-C the end of the supervisor can be noticed first.
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const endBySignal = (signal: NodeJS.Signals) => {
    const at = performance.now();
    if (first === undefined) {
      first = { signal, at };
      end();
    } else if (signal !== first.signal || at - first.at > SAME_SIGNAL_MILLISECONDS) {
      exit(1);
    }
  };
  process.on('SIGTERM', endBySignal);
  process.on('SIGINT', endBySignal);
  if (isSupervised) {
    process.on('disconnect', end);
    tellSupervisor(end);
  }
}

/**
 * A worker ends when its supervisor orders it or ends itself. A signal can reach the whole group, as
 * Ctrl-C does, and the supervisor then ends its workers in the correct order.
 */
function endWithSupervisor(end: () => void): void {
  process.on('SIGTERM', () => undefined);
  process.on('SIGINT', () => undefined);
  if (cluster.worker !== undefined) {
    // Otherwise Node ends the worker when the channel closes, without a drain.
    cluster.worker.exitedAfterDisconnect = true;
  }
  process.on('message', (message: MessageToWorker) => {
    if (message === 'end') {
      end();
    }
  });
  process.on('disconnect', end);
  tellSupervisor(end);
}

/** The supervisor kills a worker that it cannot distinguish from a frozen one. */
function reportStarting(): NodeJS.Timeout {
  const message: MessageFromWorker = 'starting';
  return setInterval(
    () => process.send?.(message, undefined, undefined, () => undefined),
    STARTING_INTERVAL_MILLISECONDS,
  );
}

/** The supervisor may have ended during the start. */
function tellSupervisor(onGone: () => void): void {
  if (process.send === undefined || !process.connected) {
    onGone();
    return;
  }
  process.send('ready', undefined, undefined, (error) => {
    if (error !== null) {
      onGone();
    }
  });
}

function exit(code: number, message?: string): never {
  if (message !== undefined) {
    process.stderr.write(`${message}\n`);
  }
  process.exit(code);
}

/**
 * After an unhandled error, the state of the process is unknown. It logs the error and exits with
 * 1.
 */
export function exitOnUnhandledErrors(logger: Logger): void {
  const logAndExit = (err: unknown) => {
    logger.fatal({ err }, 'unhandled error');
    process.exit(1);
  };
  process.on('uncaughtException', logAndExit);
  // Applies to rejections with any value of --unhandled-rejections.
  process.on('unhandledRejection', logAndExit);
}
