import { failureReasons, isFailureReason } from '@gatehouse/errors';
import type { RequestEntry } from '@gatehouse/identity';
import { closestName } from '../command-line/closest-name.ts';
import { type Command, text, UsageError } from '../command-line/command.ts';
import { printable } from '../command-line/printable.ts';
import { formatTable } from '../command-line/table.ts';
import { withNames } from './audit-names.ts';
import { describeRequest, explainedRequest, shownClient } from './explain-request.ts';
import { readTime } from './read-time.ts';
import { relatedAuditEntries } from './related-audit-entries.ts';

/** As in packages/server, which replaces any other id. */
const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;
/** A caller can send any number of requests with one id. */
const MAXIMUM_EXPLAINED = 10;

const list: Command = {
  name: 'requests list',
  summary: 'List requests of the request log, newest first: failures, and a sample of the others.',
  options: {
    client: { type: 'string', description: 'Requests of this client, or that name it.' },
    code: { type: 'string', description: 'Requests with this error code: invalid_signature.' },
    reason: { type: 'string', description: 'Requests with this internal reason.' },
    from: {
      type: 'string',
      description: 'Requests from this address group, as the column FROM shows it.',
    },
    since: {
      type: 'string',
      description: 'Requests since a time (2026-11-20T10:00Z) or a duration ago (30m, 12h, 7d).',
    },
    limit: { type: 'string', description: 'Maximum number of requests. Default: 50.' },
  },
  async run({ options }, { identity, now }) {
    const limit = text(options.limit) ?? '50';
    if (!/^[1-9]\d{0,4}$/.test(limit)) {
      throw new UsageError('--limit must be a number from 1 to 99999.');
    }
    const since = readTime('since', text(options.since), now());
    const requests = await identity.requestLog.read({
      clientId: text(options.client),
      code: text(options.code),
      reason: readReason(text(options.reason)),
      addressGroup: text(options.from),
      since: since === undefined ? undefined : Date.parse(since),
      limit: Number(limit),
    });
    return {
      json: { requests: requests.map(explainedRequest) },
      text: formatTable([heading, ...requests.map((entry) => cells(entry).map(printable))]),
    };
  },
};

const explain: Command = {
  name: 'requests explain',
  summary: 'Explain why a request failed: stages, cause, fix and audit entries.',
  positionals: ['requestId'],
  notes: [
    'Every reply has its request id in the header X-Request-Id. Error pages show it, too.',
    'Callers can choose the id. If several requests have it, all are explained, oldest first.',
  ],
  async run({ positionals }, { identity }) {
    const { requestId = '' } = positionals;
    if (!REQUEST_ID.test(requestId)) {
      throw new UsageError('A request id has 8 to 64 characters: letters, digits, ".", "_", "-".');
    }
    const found = await identity.requestLog.find(requestId);
    if (found.length === 0) {
      throw new Error(notFound);
    }
    const audited = await withNames(
      await relatedAuditEntries(mostCredible(found), identity.audit),
      identity,
    );
    const shown = mostCredible(found);
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

function readReason(reason: string | undefined): string | undefined {
  if (reason !== undefined && !isFailureReason(reason)) {
    const meant = closestName(reason, Object.keys(failureReasons));
    throw new UsageError(
      `Unknown reason.${meant === undefined ? '' : ` Did you mean ${meant}?`} gatehouse reasons lists all of them.`,
    );
  }
  return reason;
}

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
