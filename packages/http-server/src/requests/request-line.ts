import pino from 'pino';
import type { Logger } from '../logging/logger.ts';

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
    const { status } = line;
    const method = escaped(line.method ?? '');
    const operation = line.operation === undefined ? undefined : escaped(line.operation);
    let text = `{"level":"info","time":"${isoTime(Date.now())}"${fixed}`;
    text += `,"requestId":"${escaped(line.requestId)}","method":"${method}"`;
    text += status === undefined ? '' : `,"status":${status}`;
    text += line.aborted ? ',"aborted":true' : '';
    text += `,"durationMs":${line.durationMs}`;
    text += line.upstreamMs === undefined ? '' : `,"upstreamMs":${line.upstreamMs}`;
    text += operation === undefined ? '' : `,"operation":"${operation}"`;
    text += member('clientId', line.clientId) + member('credential', line.credential);
    text += member('code', line.code);
    text += `,"msg":"${method} ${operation ?? 'unmatched'} ${status ?? 'aborted'}"}\n`;
    stream?.write(text);
  };
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":"${escaped(value)}"`;
}

/** Nothing in it that JSON would write differently. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

function escaped(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text).slice(1, -1);
}

const SECOND = 1000;
let second = -1;
let secondText = '';

/** The parts of a date are worked out once a second. */
function isoTime(now: number): string {
  const current = Math.floor(now / SECOND);
  if (current !== second) {
    second = current;
    secondText = new Date(current * SECOND).toISOString().slice(0, -'000Z'.length);
  }
  return `${secondText}${String(now - current * SECOND).padStart(3, '0')}Z`;
}
