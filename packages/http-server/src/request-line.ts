import pino from 'pino';
import type { Logger } from './logger.ts';

/** What one line of the request log says. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string | undefined;
  /** Undefined: the caller left before the reply began. */
  readonly status: number | undefined;
  readonly aborted: boolean;
  readonly durationMs: number;
  /** Of it, until the head of the upstream's reply was here, where one was asked. */
  readonly upstreamMs: number | undefined;
  readonly operation: string | undefined;
  readonly clientId: string | undefined;
  readonly credential: string | undefined;
  readonly code: string | undefined;
}

/**
 * Writes request lines as pino would, member by member, but without its general machinery, which shows in the
 * profile of a busy server. Everything else goes through pino.
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
    const { method = '', status, operation = 'unmatched' } = line;
    let text = `{"level":"info","time":"${new Date().toISOString()}"${fixed}`;
    text += `,"requestId":${quoted(line.requestId)},"method":${quoted(method)}`;
    text += status === undefined ? '' : `,"status":${status}`;
    text += line.aborted ? ',"aborted":true' : '';
    text += `,"durationMs":${line.durationMs}`;
    text += line.upstreamMs === undefined ? '' : `,"upstreamMs":${line.upstreamMs}`;
    text += member('operation', line.operation) + member('clientId', line.clientId);
    text += member('credential', line.credential) + member('code', line.code);
    text += `,"msg":${quoted(`${method} ${operation} ${status ?? 'aborted'}`)}}\n`;
    stream?.write(text);
  };
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${quoted(value)}`;
}

/** Nothing in it that JSON would write differently. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}
