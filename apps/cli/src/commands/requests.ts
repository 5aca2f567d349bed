import { isFailureReason } from '@gatehouse/errors';
import { type ExplainedRequest, type NamedEntry, OperatorError } from '@gatehouse/operators';
import { auditTable } from '../audit/audit.ts';
import { type Command, text } from '../command-line/command.ts';
import { formatTable, printable } from '../command-line/format.ts';
import { limitOption, readPages, readTime, sinceOption } from '../command-line/lists.ts';
import { unknownReason } from './reasons.ts';

/** A caller can send any number of requests with one id. */
const MAXIMUM_EXPLAINED = 10;

const list: Command = {
  usage: 'requests list',
  summary: 'List requests of the request log, newest first: failures, and a sample of the others.',
  options: {
    'client <id>': 'Requests of this client, and rejected ones that claim to be from it.',
    'user <name>': 'Requests for this user, by username or id.',
    'code <code>': 'Requests with this error code: invalid_signature.',
    'reason <reason>': 'Requests with this internal reason.',
    'from <address>': 'Requests from this address group, as in the column FROM.',
    ...sinceOption,
    ...limitOption,
  },
  notes: ['Without --limit, it prints 50 requests.'],
  example: '--client backend --code invalid_signature --since 1h',
  async run(input, { operators }) {
    const { options } = input;
    const reason = text(options.reason);
    if (reason !== undefined && !isFailureReason(reason)) {
      throw unknownReason(reason);
    }
    const since = readTime('since', input);
    const filter = {
      clientId: text(options.client),
      user: text(options.user),
      code: text(options.code),
      reason,
      addressGroup: text(options.from),
      since: since === undefined ? undefined : Date.parse(since),
    };
    const requests = await readPages(input, 50, (page) =>
      operators.requests.list({ ...filter, ...page }),
    );
    const heading = 'TIME,APP,OPERATION,STATUS,CODE,REASON,CLIENT,FROM,MS,REQUEST ID'.split(',');
    return {
      json: { requests },
      text: formatTable([heading, ...requests.map((entry) => cells(entry).map(printable))]),
    };
  },
};

function cells(entry: ExplainedRequest): readonly string[] {
  const { app, operation, status, code, reason, addressGroup, durationMs, requestId } = entry;
  const outcome = [String(status ?? '-'), code ?? '-', reason ?? '-'];
  const origin = [shownClient(entry), addressGroup, String(durationMs), requestId];
  return [entry.time, app, operation, ...outcome, ...origin];
}

const explain: Command = {
  usage: 'requests explain <requestId>',
  summary: 'Explain why a request failed: stage, cause, fix and audit entries.',
  notes: [
    'Every reply has its request id in the header X-Request-Id. Error pages show it, too.',
    'Callers can choose the id. If several requests have it, all are explained, oldest first.',
  ],
  example: '0c9c1f6e-5a1e-4c56-8f6a-7f2d7a1c9b10',
  async run({ positionals: { requestId = '' } }, { operators }) {
    const { requests: found, audit } = await operators.requests.read(requestId).catch((error) => {
      throw error instanceof OperatorError && error.code === 'not_found'
        ? new Error(notFound)
        : error;
    });
    const shown = mostCredible(found);
    const several = `${found.length} requests have this id, because callers can choose it. Verified clients come first, --json prints all.`;
    return {
      json: { requests: found, audit },
      text: [
        ...(found.length > 1 ? [several] : []),
        ...shown.map((entry) => describeRequest(entry, audit)),
      ].join('\n\n'),
    };
  },
};

/** Many requests that an attacker sends with the id of a request must not hide that request. */
function mostCredible(found: readonly ExplainedRequest[]): readonly ExplainedRequest[] {
  const latest = found.toReversed();
  return [...latest.filter(({ verified }) => verified), ...latest.filter((each) => !each.verified)]
    .slice(0, MAXIMUM_EXPLAINED)
    .sort((a, b) => (a.time < b.time ? -1 : 1));
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

/** For people. */
function describeRequest(entry: ExplainedRequest, audited: readonly NamedEntry[]): string {
  const { reason, finding, explanation } = entry;
  const failure =
    explanation === undefined
      ? [`Reason: ${printable(reason ?? '')}. This release does not know it.`]
      : [
          `Reason: ${reason}, at the stage ${explanation.stage}`,
          ...(finding === undefined ? [] : [`  This request:  ${printable(finding)}`]),
          `  What happened: ${explanation.cause}`,
          `  How to fix it: ${explanation.fix}`,
        ];
  return [
    `Request ${entry.requestId}`,
    '',
    formatTable(facts(entry).map(([name, value = '']) => [`  ${name}`, printable(value)])),
    '',
    ...(reason === undefined ? ['The request succeeded.'] : failure),
    '',
    ...(audited.length > 0
      ? ['Audit entries of this request:', auditTable(audited)]
      : ['Audit entries of this request: none. Equal events of an hour share an entry.']),
    '',
    'What to look at next:',
    ...nextSteps(entry).map((step) => `  ${printable(step)}`),
  ].join('\n');
}

function facts(entry: ExplainedRequest): readonly (readonly string[])[] {
  const { status = 'none', aborted, code = '', credential, keyId, userAgent, method = '' } = entry;
  const left = aborted ? ', and the connection closed before the end of the reply' : '';
  const times = { verified: entry.verifiedMs, upstream: entry.upstreamMs, total: entry.durationMs };
  const known = Object.entries(times).filter(([, milliseconds]) => milliseconds !== undefined);
  return [
    ['Time', entry.time],
    ['App', `${entry.app}, operation ${entry.operation} ${method}`],
    ['Reply', `${status} ${code}${left}`],
    ['Duration', known.map(([name, milliseconds]) => `${name} ${milliseconds} ms`).join(', ')],
    ['Client', shownClient(entry)],
    ['Credential', credential === undefined ? 'not verified' : `${credential} ${keyId ?? ''}`],
    ['From', `${entry.addressGroup}, ${userAgent ? `user agent ${userAgent}` : 'no user agent'}`],
  ];
}

/** A client that a request names without proof could be the victim of an attacker. */
function shownClient({ clientId, verified }: ExplainedRequest): string {
  return clientId === undefined || verified
    ? (clientId ?? 'unknown')
    : `${clientId} (claimed, not verified)`;
}

function nextSteps({ clientId, reason, time, requestId }: ExplainedRequest): readonly string[] {
  const since = `--since ${new Date(Date.parse(time) - 60 * 60 * 1000).toISOString().slice(0, 16)}Z`;
  const ofClient = clientId === undefined ? '' : ` --client ${clientId}`;
  const ofReason = reason === undefined ? '' : ` --reason ${reason}`;
  return [
    `Similar requests: gatehouse requests list${ofClient}${ofReason} ${since}`,
    `Audit trail: gatehouse audit list${ofClient} ${since}`,
    ...(reason === 'token_unknown'
      ? ['Revocations: gatehouse audit list --event token_revoked']
      : []),
    `Log: search the output of the servers for ${requestId}`,
  ];
}

export const requestCommands: readonly Command[] = [list, explain];
