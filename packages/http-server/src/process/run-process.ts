import type { Logger } from '../logging/logger.ts';
import { denyDebugging } from './deny-debugging.ts';

export interface RunningApp {
  /** Drains and releases everything, in reverse order of opening. */
  close(): Promise<void>;
}

/** CF-02: gone within 10 s, whatever hangs. */
const EXIT_DEADLINE_MILLISECONDS = 9_500;

export interface RunOptions {
  /** How long `close` may take before the process ends without it. */
  readonly exitDeadlineMilliseconds?: number;
}

/**
 * The life of one server process: start, tell a supervisor, wait for the end, drain, leave.
 *
 * The end is SIGTERM, SIGINT, or the supervisor going away (its IPC channel closes), whichever comes
 * first. A second signal ends the process at once, with 1; so does a drain that
 * fails or takes too long.
 */
export async function runProcess(
  start: () => Promise<RunningApp>,
  describeRefusal: (error: unknown) => string,
  options: RunOptions = {},
): Promise<void> {
  denyDebugging();
  const isSupervised = process.send !== undefined;
  let app: RunningApp;
  try {
    app = await start();
  } catch (error) {
    leave(1, describeRefusal(error));
  }
  let ending = false;
  const end = () => {
    if (ending) {
      return;
    }
    ending = true;
    setTimeout(
      () => leave(1, 'Ended without waiting any longer.'),
      options.exitDeadlineMilliseconds ?? EXIT_DEADLINE_MILLISECONDS,
    );
    app.close().then(
      () => leave(0),
      (error: unknown) => leave(1, `Could not close in order: ${String(error)}`),
    );
  };
  // Only signals are counted: at Ctrl-C the supervisor's end may be noticed before the signal itself.
  let signals = 0;
  const endBySignal = () => {
    signals += 1;
    if (signals > 1) {
      leave(1);
    }
    end();
  };
  process.on('SIGTERM', endBySignal);
  process.on('SIGINT', endBySignal);
  if (isSupervised) {
    process.on('disconnect', end);
    tellSupervisor(end);
  }
}

/** The supervisor may have gone away during the start, before anybody listened. */
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

function leave(code: number, words?: string): never {
  if (words !== undefined) {
    process.stderr.write(`${words}\n`);
  }
  process.exit(code);
}

/** An error nobody handled leaves the process in an unknown state: log it, end with 1, be restarted. */
export function exitOnUnhandledErrors(logger: Logger): void {
  const exit = (err: unknown) => {
    logger.fatal({ err }, 'unhandled error');
    process.exit(1);
  };
  process.on('uncaughtException', exit);
  // A rejection is one, too, whatever --unhandled-rejections says.
  process.on('unhandledRejection', exit);
}
