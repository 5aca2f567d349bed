import type { Logger } from './logger.ts';

export interface RunningApp {
  /** Drains and releases everything, in reverse order of opening. */
  close(): Promise<void>;
}

/**
 * The life of one server process: start, tell a supervisor, wait for the end, drain, leave.
 *
 * The end is SIGTERM, SIGINT, or the supervisor going away (its IPC channel closes), whichever comes
 * first. A second signal ends the process at once.
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
  let signals = 0;
  let ending = false;
  const end = () => {
    if (!ending) {
      ending = true;
      void app.close().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    }
  };
  const endBySignal = () => {
    signals += 1;
    if (signals > 1) {
      process.exit(1);
    }
    end();
  };
  process.on('SIGTERM', endBySignal);
  process.on('SIGINT', endBySignal);
  if (process.send !== undefined) {
    process.on('disconnect', end);
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
