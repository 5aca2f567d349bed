import type { FailureReasonName, FailureStage } from '@gatehouse/errors';
import pino from 'pino';
import type { Logger } from './logger.ts';

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
