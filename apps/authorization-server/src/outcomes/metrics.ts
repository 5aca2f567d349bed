/**
 * The metrics of the authorization server, in addition to those of every server. Label values come
 * from fixed lists, never from a caller.
 *
 *   observeRequests ─▶ requested      audit trail ─▶ audited (tokens, replays, sign-ins)      limits ─▶ throttled
 */
import type { SignInReasonName } from '@gatehouse/errors';
import {
  type AuditEvent,
  auditEvents,
  grantNames,
  passwordHashingLoad,
  requestLogResults,
} from '@gatehouse/identity';
import {
  addProcessMetrics,
  createIncrements,
  createRequestLogMetrics,
  createRequestMetrics,
  type MetricsRegistry,
} from '@gatehouse/server';
import { formProblems, pageErrors } from '../pages/error-page.ts';
import { clientCredentialKinds } from '../requests/request-context.ts';
import { operationNames } from '../requests/routes.ts';
import { reasonsOfCodes } from './reasons.ts';

const throttledLimits = ['requests', 'client_secrets', 'sign_ins'] as const;

export type ThrottledLimit = (typeof throttledLimits)[number];

/** The reasons of a failed sign-in that a limit rejected. */
const throttledSignIns: ReadonlySet<string> = new Set<SignInReasonName>([
  'account_locked',
  'sign_in_address_limit',
  'sign_in_user_limit',
]);

/** The kind of credential that was used twice, by the name of its audit event. */
const replayed: Readonly<Partial<Record<AuditEvent['event'], string>>> = {
  code_replayed: 'code',
  refresh_token_replayed: 'refresh_token',
  pkce_challenge_reused: 'pkce_challenge',
};

export function createAuthorizationServerMetrics(registry: MetricsRegistry) {
  addProcessMetrics(registry, { app: 'authorization-server' });
  collectPasswordHashing(registry);
  const refusals = registry.counter({
    name: 'gatehouse_throttle_refusals_total',
    help: 'Requests rejected because a limit was reached.',
    labels: { limit: throttledLimits },
  });
  const throttled = (limit: ThrottledLimit) => {
    refusals.of(limit).value += 1;
  };
  return {
    requested: createRequestMetrics(registry, {
      operations: ['unmatched', ...operationNames],
      credentials: clientCredentialKinds,
      codes: Object.keys({ ...reasonsOfCodes, ...pageErrors, ...formProblems }),
    }),
    audited: createAuditObserver(registry, throttled),
    requestLog: createRequestLogMetrics(registry, requestLogResults),
    /** What this process counted, for the time series of operators. */
    increments: createIncrements(registry, {
      metric: 'gatehouse_requests_total',
      labels: ['credential', 'outcome'],
    }),
    throttled,
  };
}

function createAuditObserver(
  registry: MetricsRegistry,
  throttled: (limit: ThrottledLimit) => void,
): (event: AuditEvent) => void {
  const events = registry.counter({
    name: 'gatehouse_audit_events_total',
    help: 'Events of the audit trail.',
    labels: { event: Object.keys(auditEvents) },
  });
  const tokens = registry.counter({
    name: 'gatehouse_tokens_issued_total',
    help: 'Replies with tokens.',
    labels: { grant: grantNames },
  });
  const replays = registry.counter({
    name: 'gatehouse_replay_refusals_total',
    help: 'Credentials rejected because they had been used before.',
    labels: { credential: Object.values(replayed) },
  });
  return (event) => {
    events.of(event.event).value += 1;
    const credential = replayed[event.event];
    if (credential !== undefined) {
      replays.of(credential).value += 1;
    } else if (event.event === 'token_issued') {
      tokens.of(event.grant).value += 1;
    } else if (event.event === 'sign_in_failed' && throttledSignIns.has(event.reason)) {
      throttled('sign_ins');
    }
  };
}

function collectPasswordHashing(registry: MetricsRegistry): void {
  registry.collect({
    name: 'gatehouse_password_hashing',
    help: 'Passwords that are being hashed or wait to be hashed.',
    acrossWorkers: 'sum',
    read: () => {
      const { running, waiting } = passwordHashingLoad();
      return [
        { labels: { state: 'running' }, value: running },
        { labels: { state: 'waiting' }, value: waiting },
      ];
    },
  });
  registry.collect({
    name: 'gatehouse_password_hashing_refused_total',
    help: 'Sign-ins rejected because too many were waiting.',
    read: () => passwordHashingLoad().refused,
  });
}
