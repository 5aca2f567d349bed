import pino from 'pino';
import pretty from 'pino-pretty';
import { serializeError } from './serialize-error.ts';

export type Logger = pino.Logger;

export interface LoggerOptions {
  /** The app's name, on every line. */
  readonly app: string;
  readonly level: string;
  /** Coloured lines for a person instead of JSON for a machine. */
  readonly pretty: boolean;
  /** Where the lines go instead of standard output. */
  readonly destination?: pino.DestinationStream;
}

/**
 * One JSON line an event. Nothing that carries a credential is ever handed to the logger: requests are
 * logged by operation name, never by URL or header. What an error's text might carry is masked here.
 */
export function createLogger(options: LoggerOptions): Logger {
  return pino(
    {
      level: options.level,
      base: { app: options.app },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => serializeError(error) },
    },
    options.destination ??
      (options.pretty
        ? pretty({ sync: true, ignore: 'pid,hostname,app', messageFormat: '{app}: {msg}' })
        : pino.destination({ dest: 1, sync: true })),
  );
}
