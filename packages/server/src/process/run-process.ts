import cluster from 'node:cluster';
import { describeStartFailure } from '../configuration/configuration-error.ts';
import { denyDebugging } from '../configuration/debugging.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { MessageFromWorker, MessageToWorker } from './worker-process.ts';

export interface RunningApp {
  /** Drains and releases all resources, in reverse order of opening. */
  close(): Promise<void>;
}

/** The process ends within 10 s in every case. */
const EXIT_DEADLINE_MILLISECONDS = 9_500;
const STARTING_INTERVAL_MILLISECONDS = 1000;
/** npm passes on a signal that Ctrl-C or systemd has already sent to every process of the group. */
const SAME_SIGNAL_MILLISECONDS = 500;

/**
 * Runs one server process: start, report ready, wait for the end, drain, exit.
 *
 * SIGTERM, SIGINT or the end of the supervisor (its IPC channel closes) starts the drain. A second
 * signal, a failed drain or a drain that takes too long ends the process with exit code 1. The same
 * signal again within half a second does not count as a second one.
 *
 * @param exitDeadlineMilliseconds time for `close`. After it, the process ends
 */
export async function runProcess(
  name: string,
  start: () => Promise<RunningApp>,
  exitDeadlineMilliseconds = EXIT_DEADLINE_MILLISECONDS,
): Promise<void> {
  denyDebugging();
  // The supervisor kills a worker that it cannot distinguish from a frozen one.
  const starting = cluster.isWorker
    ? setInterval(() => tell('starting'), STARTING_INTERVAL_MILLISECONDS)
    : undefined;
  const app = await start().catch((error: unknown) => exit(1, describeStartFailure(name, error)));
  clearInterval(starting);
  let ending = false;
  const end = () => {
    if (ending) {
      return;
    }
    ending = true;
    setTimeout(() => exit(1, 'Ended without waiting any longer.'), exitDeadlineMilliseconds);
    app.close().then(
      () => exit(0),
      (error: unknown) => exit(1, `Could not close in order: ${String(error)}`),
    );
  };
  if (cluster.isWorker) {
    endByOrder(end);
  } else {
    endBySignal(end);
  }
  if (process.send !== undefined) {
    process.on('disconnect', end);
    // The supervisor may have ended during the start.
    tell('ready', end);
  }
}

/**
 * A worker ends when its supervisor orders it or ends itself. A signal can reach the whole group, as
 * Ctrl-C does, and the supervisor then ends its workers in the correct order.
 */
function endByOrder(end: () => void): void {
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
}

/** Only signals count as a second one: at Ctrl-C the end of the supervisor can be noticed first. */
function endBySignal(end: () => void): void {
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const at = performance.now();
    if (first === undefined) {
      first = { signal, at };
      end();
    } else if (signal !== first.signal || at - first.at > SAME_SIGNAL_MILLISECONDS) {
      exit(1);
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** @param onGone called if the supervisor has ended */
function tell(message: MessageFromWorker, onGone?: () => void): void {
  process.send?.(message, undefined, undefined, (error) => error && onGone?.());
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
