import { isFailureReason } from '@gatehouse/errors';
import type { RequestEntry } from '@gatehouse/identity';
import {
  type Command,
  limitOption,
  readLimit,
  readTime,
  text,
  timeOptions,
  UsageError,
} from '../command-line/command.ts';
import { formatTable, printable } from '../command-line/format.ts';
import { withNames } from './audit.ts';
import {
  describeRequest,
  explainedRequest,
  relatedAuditEntries,
  shownClient,
} from './explain-request.ts';
import { unknownReason } from './reasons.ts';

/** As in packages/server, which replaces any other id. */
const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;
/** A caller can send any number of requests with one id. */
const MAXIMUM_EXPLAINED = 10;

const list: Command = {
  usage: 'requests list',
  summary: 'List requests of the request log, newest first: failures, and a sample of the others.',
  options: {
    client: { value: 'id', description: 'Requests of this client, or that name it.' },
    code: { value: 'code', description: 'Requests with this error code: invalid_signature.' },
    reason: { value: 'reason', description: 'Requests with this internal reason.' },
    from: {
      value: 'address',
      description: 'Requests from this address group, as the column FROM shows it.',
    },
    since: timeOptions.since,
    ...limitOption,
  },
  notes: ['Without --limit, it prints 50 requests.'],
  example: '--client backend --code invalid_signature --since 1h',
  async run(input, { identity, now }) {
    const { options } = input;
    const reason = text(options.reason);
    if (reason !== undefined && !isFailureReason(reason)) {
      throw unknownReason(reason);
    }
    const since = readTime('since', input, now());
    const requests = await identity.requestLog.read({
      clientId: text(options.client),
      code: text(options.code),
      reason,
      addressGroup: text(options.from),
      since: since === undefined ? undefined : Date.parse(since),
      limit: readLimit(input, 50),
    });
    return {
      json: { requests: requests.map(explainedRequest) },
      text: formatTable([heading, ...requests.map((entry) => cells(entry).map(printable))]),
    };
  },
};

const explain: Command = {
  usage: 'requests explain <requestId>',
  summary: 'Explain why a request failed: stages, cause, fix and audit entries.',
  notes: [
    'Every reply has its request id in the header X-Request-Id. Error pages show it, too.',
    'Callers can choose the id. If several requests have it, all are explained, oldest first.',
  ],
  example: '0c9c1f6e-5a1e-4c56-8f6a-7f2d7a1c9b10',
  async run({ positionals }, { identity }) {
    const { requestId = '' } = positionals;
    if (!REQUEST_ID.test(requestId)) {
      throw new UsageError('A request id has 8 to 64 characters: letters, digits, ".", "_", "-".');
    }
    const found = await identity.requestLog.find(requestId);
    if (found.length === 0) {
      throw new Error(notFound);
    }
    const shown = mostCredible(found);
    const audited = await withNames(await relatedAuditEntries(shown, identity.audit), identity);
    const several =
      `${found.length} requests have this id, because callers can choose it.` +
      (shown.length < found.length
        ? ` These are ${shown.length} of them: verified clients, then the latest. --json prints all.`
        : '');
    return {
      json: { requests: found.map(explainedRequest), audit: audited },
      text: [
        ...(found.length > 1 ? [several] : []),
        ...shown.map((entry) => describeRequest(entry, audited)),
      ].join('\n\n'),
    };
  },
};

/** Many requests that an attacker sends with the id of a request must not hide that request. */
function mostCredible(found: readonly RequestEntry[]): readonly RequestEntry[] {
  const latest = found.toReversed();
  return [...latest.filter(({ verified }) => verified), ...latest.filter((each) => !each.verified)]
    .slice(0, MAXIMUM_EXPLAINED)
    .sort((a, b) => a.at - b.at);
}

const notFound = [
  'The request log has no request with this id. Possible causes:',
  '- The request succeeded. The log keeps one in 100 successful requests.',
  '- It arrived less than two seconds ago and is still being written. Try again.',
  '- It is older than 7 days, or newer entries replaced it.',
  '- Its client or address group had more failures in that hour than the log keeps. List similar',
  '  ones: gatehouse requests list --client ID --since 1h',
  '- The store was unavailable. gatehouse_request_log_entries_total counts lost entries.',
  '- The servers use another store. Compare STORE_URL and DATA_DIR.',
  '- The id is that of a reply of nginx or of the device service. Search their logs for it.',
].join('\n');

const heading = [
  'TIME',
  'APP',
  'OPERATION',
  'STATUS',
  'CODE',
  'REASON',
  'CLIENT',
  'FROM',
  'MS',
  'REQUEST ID',
];

function cells(entry: RequestEntry): readonly string[] {
  const { app, operation, status, code, reason, addressGroup, durationMs, requestId } = entry;
  return [
    new Date(entry.at).toISOString(),
    app,
    operation,
    String(status ?? '-'),
    code ?? '-',
    reason ?? '-',
    shownClient(entry),
    addressGroup,
    String(durationMs),
    requestId,
  ];
}

export const requestCommands: readonly Command[] = [list, explain];
