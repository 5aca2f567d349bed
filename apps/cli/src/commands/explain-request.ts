import { type FailureReason, failureReasons, isFailureReason } from '@gatehouse/errors';
import type { RequestEntry } from '@gatehouse/identity';
import { printable } from '../command-line/printable.ts';
import { formatTable } from '../command-line/table.ts';
import type { NamedEntry } from './audit-names.ts';
import { auditCells, auditHeading } from './audit-table.ts';
import { requestStages } from './request-stages.ts';

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
