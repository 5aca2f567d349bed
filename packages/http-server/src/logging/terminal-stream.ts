import pretty, { type PrettyStream } from 'pino-pretty';

/** Members of a log record that are in the text of a line already. */
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
];

/** Turns each log record into one short line for a terminal. The stack of an error follows it. */
export function terminalStream(destination?: NodeJS.WritableStream): PrettyStream {
  return pretty({
    sync: true,
    singleLine: true,
    ignore: ['pid', 'hostname', ...IN_TEXT].join(','),
    messageFormat: (record, messageKey) =>
      `${record.app}: ${record[messageKey]}${requestDetails(record)}`,
    ...(destination && { destination }),
  });
}

/** A rejected request has its id, which the user sees on the error page. */
function requestDetails(record: Readonly<Record<string, unknown>>): string {
  const { durationMs, clientId, code, requestId } = record;
  if (durationMs === undefined) {
    return '';
  }
  const isRejected = code !== undefined || Number(record.status) >= 400;
  const details = [`${durationMs} ms`, clientId, code, isRejected ? requestId : undefined];
  return details
    .filter((detail) => detail !== undefined)
    .map((detail) => ` · ${detail}`)
    .join('');
}
