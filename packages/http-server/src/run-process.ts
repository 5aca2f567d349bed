import type { Logger } from './logger.ts';

export interface RunningApp {
  /** Drains and releases everything, in reverse order of opening. */
  close(): Promise<void>;
}

/**
 * The life of one server process: start, tell a supervisor, wait for the end, drain, leave.
 *
 * The end is SIGTERM, SIGINT, or the supervisor going away (its IPC channel closes), whichever comes
 * first. A signal that arrives while draining ends the process at once.
 */
export async function runProcess(
  start: () => Promise<RunningApp>,
  describeRefusal: (error: unknown) => string,
): Promise<void> {
  let app: RunningApp;
  try {
    app = await start();
  } catch (error) {
    process.stderr.write(`${describeRefusal(error)}\n`);
    process.exit(1);
  }
  let ending = false;
  const end = (bySignal: boolean) => {
    if (ending) {
      if (bySignal) {
        process.exit(1);
      }
      return;
    }
    ending = true;
    void app.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', () => end(true));
  process.on('SIGINT', () => end(true));
  if (process.send !== undefined) {
    process.on('disconnect', () => end(false));
    process.send('ready');
  }
}

/** An error nobody handled leaves the process in an unknown state: log it, end with 1, be restarted. */
export function exitOnUnhandledErrors(logger: Logger): void {
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'unhandled error');
    process.exit(1);
  });
}
