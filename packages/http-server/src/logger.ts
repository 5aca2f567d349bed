import pino from 'pino';
import pretty from 'pino-pretty';

export type Logger = pino.Logger;

export interface LoggerOptions {
  /** The app's name, on every line. */
  readonly app: string;
  readonly level: string;
  /** Coloured lines for a person instead of JSON for a machine. */
  readonly pretty: boolean;
}

/**
 * One JSON line an event. Nothing that carries a credential is ever handed to the logger: requests are
 * logged by operation name, never by URL or header. What an error's text might carry is masked here.
 */
export function createLogger(options: LoggerOptions): Logger {
  return pino(
    {
      name: options.app,
      level: options.level,
      base: { app: options.app },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
    },
    options.pretty
      ? pretty({ sync: true, ignore: 'pid,hostname,app', messageFormat: '{app}: {msg}' })
      : pino.destination({ dest: 1, sync: true }),
  );
}

function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) {
    return { type: typeof error };
  }
  return {
    type: error.name,
    message: maskUrlCredentials(error.message),
    stack: maskUrlCredentials(error.stack ?? ''),
    ...(error.cause === undefined ? {} : { cause: serializeError(error.cause) }),
  };
}

/** Connection errors like to quote the URL they failed on, with its password. */
function maskUrlCredentials(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1***@');
}
