import cluster from 'node:cluster';
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { types } from 'node:util';
import type { FailureReasonName, FailureStage } from '@gatehouse/errors';
import pino from 'pino';
import type { PrettyStream } from 'pino-pretty';

export type Logger = pino.Logger;

const BUFFER_CHARACTERS = 32 * 1024;
/** A pipe takes up to this many bytes whole, so that lines of several processes do not mix (pipe(7)). */
const WHOLE_WRITE_CHARACTERS = 4096;
const FLUSH_MILLISECONDS = 100;

interface LoggerOptions {
  /** The name of the app, on every line. */
  readonly app: string;
  readonly level: string;
  /** Instead of standard output. */
  readonly destination?: pino.DestinationStream;
}

/**
 * Writes one line of JSON per event. Callers never pass credentials: requests are logged by
 * operation name, without URL or headers. Error texts are masked.
 */
export function createLogger({ app, level, destination }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: { app },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => serializeError(error) },
    },
    destination ?? (process.stdout.isTTY ? terminalStream() : collectLines()),
  );
}

/**
 * Joins the lines of up to 100 ms, which saves system calls. The end of the process writes the rest.
 * A kill -9 loses it. pino's destination with a minimum length needs 11 µs of CPU per line instead
 * of 6 (docs/decisions/28-observability.md).
 */
function collectLines(): pino.DestinationStream {
  const destination = pino.destination({ dest: 1, sync: true });
  const most = cluster.isWorker ? WHOLE_WRITE_CHARACTERS : BUFFER_CHARACTERS;
  let lines = '';
  let timer: NodeJS.Timeout | undefined;
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (lines !== '') {
      const collected = lines;
      lines = '';
      destination.write(collected);
    }
  }
  process.once('exit', flush);
  return {
    write(line) {
      if (lines.length + line.length > most) {
        flush();
      }
      lines += line;
      timer ??= setTimeout(flush, FLUSH_MILLISECONDS).unref();
    },
  };
}

/** Members of a log record that the text of a line already contains. */
const IN_TEXT =
  'app,requestId,method,status,aborted,durationMs,upstreamMs,operation,clientId,credential,code,reason,stage';

/** pino-pretty writes these itself, and escapes those of a record. */
const OWN_CONTROLS = '\n\t\u001b';

/** A terminal may execute the other control characters, for example those of 8 bits. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, (each) => (OWN_CONTROLS.includes(each) ? each : '\uFFFD'));
}

/** Turns each log record into one short line for a terminal. The stack of an error follows it. */
export function terminalStream(destination: NodeJS.WritableStream = process.stdout): PrettyStream {
  // Loaded only for a terminal, because it occupies 2 MB.
  const pretty: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty');
  return pretty({
    sync: true,
    singleLine: true,
    ignore: `pid,hostname,${IN_TEXT}`,
    messageFormat: (record, messageKey) =>
      `${record.app}: ${record[messageKey]}${requestDetails(record)}`,
    destination: new Writable({
      write: (chunk, _encoding, done) =>
        void destination.write(withoutControls(String(chunk)), () => done()),
    }),
  });
}

/** The line of a rejected request includes its id, which the error page shows to the user. */
function requestDetails(record: Readonly<Record<string, unknown>>): string {
  const { durationMs, clientId, code, reason, requestId } = record;
  if (durationMs === undefined) {
    return '';
  }
  const isRejected = code !== undefined || Number(record.status) >= 400;
  const finer = reason === code ? undefined : reason;
  const details = [`${durationMs} ms`, clientId, code, finer, isRejected ? requestId : undefined];
  return details
    .filter((detail) => detail !== undefined)
    .map((detail) => ` · ${detail}`)
    .join('');
}

/** Causes can refer to each other. */
const MAXIMUM_DEPTH = 5;
const MAXIMUM_ERRORS = 5;

/**
 * Converts an error for the log. For other values, only the type is logged, because they can be
 * secrets.
 */
export function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error || types.isNativeError(error))) {
    return { type: typeof error };
  }
  const nested = (inner: unknown) => serializeError(inner, depth + 1);
  const isDeep = depth >= MAXIMUM_DEPTH;
  return {
    type: error.name,
    ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
    message: maskUrls(String(error.message)),
    stack: maskUrls(String(error.stack ?? '')),
    ...(error.cause === undefined || isDeep ? {} : { cause: nested(error.cause) }),
    ...('errors' in error && Array.isArray(error.errors) && !isDeep
      ? { errors: error.errors.slice(0, MAXIMUM_ERRORS).map(nested) }
      : {}),
  };
}

/**
 * Error texts can quote a URL with a password, which can contain `/` and `@`, or with a token in
 * the query. Repetitions are bounded, because a caller can choose the length of the text.
 */
function maskUrls(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'<>]{0,1024}@/gi, '$1***@')
    .replace(/\?[^\s"'<>?=]{1,256}=[^\s"'<>]*/g, '?***');
}

/** Values of one line of the request log. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string | undefined;
  /** Undefined if the client disconnected before the reply. */
  readonly status: number | undefined;
  readonly aborted: boolean;
  readonly durationMs: number;
  /** Part of the duration until the head of the upstream's reply arrived. */
  readonly upstreamMs?: number | undefined;
  readonly operation?: string | undefined;
  readonly clientId?: string | undefined;
  readonly credential?: string | undefined;
  readonly code: string | undefined;
  /** Every failed request has a reason and the stage that it failed in. */
  readonly reason: FailureReasonName | undefined;
  readonly stage: FailureStage | undefined;
  /** A value that completes the reason. */
  readonly finding?: string | undefined;
}

/**
 * Writes request lines in the format of pino, without its general serializer, which is visible in
 * the profile of a busy server. All other lines use pino.
 */
export function createRequestLineWriter(logger: Logger): (line: RequestLine) => void {
  const stream = (logger as unknown as Record<symbol, { write(text: string): unknown }>)[
    pino.symbols.streamSym
  ];
  const bindings = JSON.stringify(logger.bindings()).slice(1, -1);
  const fixed = bindings === '' ? '' : `,${bindings}`;
  return (line) => {
    if (!logger.isLevelEnabled('info')) {
      return;
    }
    const { status } = line;
    const method = escaped(line.method ?? '-');
    const operation = line.operation === undefined ? undefined : escaped(line.operation);
    let text = `{"level":"info","time":"${isoTime(Date.now())}"${fixed}`;
    text += `,"requestId":"${escaped(line.requestId)}","method":"${method}"`;
    text += status === undefined ? '' : `,"status":${status}`;
    text += line.aborted ? ',"aborted":true' : '';
    text += `,"durationMs":${line.durationMs}`;
    text += line.upstreamMs === undefined ? '' : `,"upstreamMs":${line.upstreamMs}`;
    text += operation === undefined ? '' : `,"operation":"${operation}"`;
    text += member('clientId', line.clientId) + member('credential', line.credential);
    text += member('code', line.code) + member('reason', line.reason) + member('stage', line.stage);
    text += member('finding', line.finding);
    text += `,"msg":"${method} ${operation ?? 'unmatched'} ${status ?? 'aborted'}"}\n`;
    stream?.write(text);
  };
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":"${escaped(value)}"`;
}

/** Returns whether JSON needs no escapes for the text. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

function escaped(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text).slice(1, -1);
}

const SECOND = 1000;
let second = -1;
let secondText = '';

/** The date is formatted once per second. */
function isoTime(now: number): string {
  const current = Math.floor(now / SECOND);
  if (current !== second) {
    second = current;
    secondText = new Date(current * SECOND).toISOString().slice(0, -'000Z'.length);
  }
  return `${secondText}${String(now - current * SECOND).padStart(3, '0')}Z`;
}
