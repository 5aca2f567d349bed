/** The explanation of one request: its stages, the reason of its failure, and its audit entries. */
import {
  type FailureReason,
  type FailureStage,
  failureReasons,
  isFailureReason,
} from '@gatehouse/errors';
import {
  type AuditEntry,
  type AuditTrail,
  lastTimeOf,
  type RequestEntry,
} from '@gatehouse/identity';
import { formatTable, printable } from '../command-line/format.ts';
import { auditCells, auditHeading, type NamedEntry } from './audit.ts';

const MAXIMUM_ENTRIES = 20;
/** More than the entries of one client that events of one second change. */
const SEARCHED_ENTRIES = 500;
/** Between a request and its audit entry. */
const TOLERANCE_MILLISECONDS = 5000;

/** A request with the catalogue's explanation, for scripts. */
export function explainedRequest(entry: RequestEntry) {
  const { at, ...members } = entry;
  return {
    time: new Date(at).toISOString(),
    ...members,
    stages: requestStages(entry),
    explanation: explanationOf(entry),
  };
}

/** The explanation of one request, for people. */
export function describeRequest(entry: RequestEntry, audited: readonly NamedEntry[]): string {
  const { reason, finding } = entry;
  const explanation = explanationOf(entry);
  return [
    `Request ${entry.requestId}`,
    '',
    formatTable(facts(entry).map(([name, value]) => [`  ${name}`, printable(value)])),
    '',
    'Stages:',
    formatTable(
      requestStages(entry).map(({ stage, state, detail }) => [`  ${stage}`, state, detail]),
    ),
    '',
    ...(reason === undefined
      ? ['The request succeeded.']
      : explanation === undefined
        ? [`Reason: ${printable(reason)}. This release does not know it.`]
        : [
            `Reason: ${reason}`,
            ...(finding === undefined ? [] : [`  This request:  ${printable(finding)}`]),
            `  What happened: ${explanation.cause}`,
            `  How to fix it: ${explanation.fix}`,
          ]),
    '',
    ...describeAudit(audited),
    '',
    'What to look at next:',
    ...nextSteps(entry).map((step) => `  ${printable(step)}`),
  ].join('\n');
}

function explanationOf({ reason }: RequestEntry): FailureReason | undefined {
  return reason !== undefined && isFailureReason(reason) ? failureReasons[reason] : undefined;
}

function facts(entry: RequestEntry): readonly (readonly [string, string])[] {
  const { status, aborted, code, credential, keyId, userAgent } = entry;
  const left = aborted ? ', and the connection closed before the end of the reply' : '';
  const key = keyId === undefined ? '' : `, key ${keyId}`;
  return [
    ['Time', new Date(entry.at).toISOString()],
    [
      'App',
      `${entry.app}, operation ${entry.operation}${entry.method === undefined ? '' : `, ${entry.method}`}`,
    ],
    ['Reply', `${status ?? 'none'}${code === undefined ? '' : ` ${code}`}${left}`],
    ['Duration', `${entry.durationMs} ms`],
    ['Client', shownClient(entry)],
    ['Credential', credential === undefined ? 'not verified' : `${credential}${key}`],
    ['From', `${entry.addressGroup}, ${userAgent ? `user agent ${userAgent}` : 'no user agent'}`],
  ];
}

/** A client that a request names without proof could be the victim of an attacker. */
export function shownClient({ clientId, verified }: RequestEntry): string {
  if (clientId === undefined) {
    return 'unknown';
  }
  return verified ? clientId : `${clientId} (claimed, not verified)`;
}

function describeAudit(audited: readonly NamedEntry[]): readonly string[] {
  return audited.length > 0
    ? ['Audit entries of this request:', formatTable([auditHeading, ...audited.map(auditCells)])]
    : ['Audit entries of this request: none. Not every failure is audited.'];
}

function nextSteps({ clientId, reason, app, at, requestId }: RequestEntry): readonly string[] {
  const since = new Date(at - 60 * 60 * 1000).toISOString().slice(0, 16);
  const ofClient = clientId === undefined ? '' : ` --client ${clientId}`;
  const ofReason = reason === undefined ? '' : ` --reason ${reason}`;
  const stage = reason !== undefined && isFailureReason(reason) && failureReasons[reason].stage;
  return [
    `Similar requests: gatehouse requests list${ofClient}${ofReason} --since ${since}Z`,
    ...(ofClient === '' ? [] : [`The client: gatehouse clients show ${clientId}`]),
    `Audit trail: gatehouse audit list${ofClient} --since ${since}Z`,
    `Log: search the output of ${app === 'gateway' ? 'gateway and device service' : app} for ${requestId}`,
    ...(stage === 'forward' || stage === 'store'
      ? ['Health: /ready on the operations port of each app names the failing check.']
      : []),
    reason === undefined ? 'Errors: docs/errors.md' : 'Other reasons: gatehouse reasons',
  ];
}

/** One stage of a request: its name, and what happened. */
interface StageRow {
  readonly stage: string;
  readonly state: 'passed' | 'FAILED' | 'not reached' | 'not recorded';
  readonly detail: string;
}

const stagesOfApps: Readonly<Record<string, readonly FailureStage[]>> = {
  gateway: ['read', 'limit', 'authenticate', 'authorize', 'forward', 'reply'],
};
const otherStages: readonly FailureStage[] = ['read', 'limit', 'authenticate', 'validate', 'reply'];

/** The stages of a request in order, with the one that failed. */
function requestStages(entry: RequestEntry): readonly StageRow[] {
  const failed = failedStageOf(entry.reason);
  const isOfService = entry.upstreamMs !== undefined && failed === 'validate';
  const inService = isOfService || entry.reason === 'database_unavailable';
  const stages = stagesOf(entry, inService ? undefined : failed);
  const failedAt = failed === undefined || inService ? stages.length : stages.indexOf(failed);
  const isUnclear = entry.reason !== undefined && failed === undefined;
  const rows = stages.map((stage, index): StageRow => {
    const detail = detailOf(stage, entry);
    if (stage === 'reply' && failed !== 'reply' && entry.status !== undefined) {
      return { stage, state: 'passed', detail: `${entry.status} after ${entry.durationMs} ms` };
    }
    if (isUnclear) {
      return { stage, state: 'not recorded', detail };
    }
    if (index === failedAt) {
      return { stage, state: 'FAILED', detail };
    }
    if (stage === 'authenticate' && index < failedAt && !entry.verified) {
      return { stage, state: 'not recorded', detail };
    }
    return { stage, state: index < failedAt ? 'passed' : 'not reached', detail };
  });
  return inService && failed !== undefined
    ? rows.flatMap((row) =>
        row.stage === 'forward'
          ? [row, { stage: `${failed} (device service)`, state: 'FAILED' as const, detail: '' }]
          : [row],
      )
    : rows;
}

/** The usual stages, with the failed one at its place. */
function stagesOf(
  { app, verified }: RequestEntry,
  failed: FailureStage | undefined,
): readonly FailureStage[] {
  const usual = stagesOfApps[app] ?? otherStages;
  if (failed === 'limit' && verified) {
    // The limit of a client counts after its verification.
    return ['read', 'authenticate', 'limit', ...usual.slice(3)];
  }
  if (failed === undefined || usual.includes(failed)) {
    return usual;
  }
  const at = verified ? usual.indexOf('authenticate') + 1 : usual.indexOf('authenticate');
  return usual.toSpliced(failed === 'validate' ? at + 1 : at, 0, failed);
}

function failedStageOf(reason: string | undefined): FailureStage | undefined {
  return reason !== undefined && reason !== 'unclassified' && isFailureReason(reason)
    ? failureReasons[reason].stage
    : undefined;
}

function detailOf(stage: FailureStage, { verifiedMs, upstreamMs, durationMs }: RequestEntry) {
  switch (stage) {
    case 'authenticate':
      return verifiedMs === undefined ? '' : `verified after ${verifiedMs} ms`;
    case 'forward':
      return upstreamMs === undefined ? '' : `upstream took ${upstreamMs} ms`;
    case 'reply':
      return `ended after ${durationMs} ms`;
    default:
      return '';
  }
}

/**
 * The audit entries with the id of the requests, and those that count the requests: equal events of
 * an hour share an entry, which has the id of the first one.
 */
export async function relatedAuditEntries(
  requests: readonly RequestEntry[],
  audit: AuditTrail,
): Promise<readonly AuditEntry[]> {
  const requestId = requests[0]?.requestId;
  const own = await audit.read({ requestId, limit: MAXIMUM_ENTRIES });
  const shared = await Promise.all(requests.map((request) => entriesThatCount(request, audit)));
  const known = new Set<string>();
  return [...own, ...shared.flat()]
    .filter(({ id }) => !known.has(id) && known.add(id))
    .slice(0, MAXIMUM_ENTRIES);
}

async function entriesThatCount(
  { at, app, clientId, reason }: RequestEntry,
  audit: AuditTrail,
): Promise<readonly AuditEntry[]> {
  if (clientId === undefined || reason === undefined) {
    return [];
  }
  const since = new Date(at - TOLERANCE_MILLISECONDS).toISOString();
  const until = new Date(at + TOLERANCE_MILLISECONDS).toISOString();
  const found = await audit.read({ clientId, since, until, limit: SEARCHED_ENTRIES });
  return found.filter(
    (entry) =>
      (entry.count ?? 1) > 1 &&
      entry.actor === app &&
      'reason' in entry &&
      entry.reason === reason &&
      lastTimeOf(entry) >= since,
  );
}
