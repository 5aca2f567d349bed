import { Writable } from 'node:stream';
import pretty, { type PrettyStream } from 'pino-pretty';

/** Members of a log record that the text of a line already contains. */
const IN_TEXT = [
  'app',
  'requestId',
  'method',
  'status',
  'aborted',
  'durationMs',
  'upstreamMs',
  'operation',
  'clientId',
  'credential',
  'code',
  'reason',
  'stage',
];

/** pino-pretty writes these itself, and escapes those of a record. */
const OWN_CONTROLS = '\n\t\u001b';

/** A terminal may execute the other control characters, for example those of 8 bits. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, (each) => (OWN_CONTROLS.includes(each) ? each : '\uFFFD'));
}

/** Turns each log record into one short line for a terminal. The stack of an error follows it. */
export function terminalStream(destination: NodeJS.WritableStream = process.stdout): PrettyStream {
  return pretty({
    sync: true,
    singleLine: true,
    ignore: ['pid', 'hostname', ...IN_TEXT].join(','),
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
