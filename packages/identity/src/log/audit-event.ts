import type { SignInReasonName } from '@gatehouse/errors';

/**
 * Where a user entered a password: the sign-in page of an application or of a device code, the
 * token endpoint, or the account page.
 */
export type SignInMethod = 'page' | 'device_code' | 'password_grant' | 'account_page';

export const clientChangeNames = [
  'added',
  'changed',
  'enabled',
  'disabled',
  'key_added',
  'key_removed',
  'revoked',
] as const;

export type ClientChange = (typeof clientChangeNames)[number];

export const userChangeNames = [
  'added',
  'changed',
  'enabled',
  'disabled',
  'password_changed',
  'unlocked',
  'revoked',
] as const;

export type UserChange = (typeof userChangeNames)[number];

/** The known parties. Never a username as entered, which can be a password in the wrong field. */
interface Parties {
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
}

interface Explained {
  /** A name of `packages/errors`. Absent in entries of earlier releases. */
  readonly reason?: string | undefined;
}

/** All audited events. No member contains a secret, a token, a code or text that a user entered. */
export type AuditEvent = Parties &
  (
    | {
        readonly event: 'sign_in_succeeded';
        readonly method: SignInMethod;
        readonly userId: string;
      }
    | {
        readonly event: 'sign_in_failed';
        readonly method: SignInMethod;
        readonly reason: SignInReasonName;
      }
    | { readonly event: 'account_locked' }
    | { readonly event: 'sign_out'; readonly userId: string; readonly everywhere: boolean }
    | (Explained & {
        readonly event: 'client_authentication_failed';
        readonly endpoint: string;
      })
    | {
        readonly event: 'token_issued';
        readonly clientId: string;
        readonly grant: string;
        readonly scope?: string | undefined;
      }
    | {
        readonly event: 'token_revoked';
        readonly kind: string;
        /** The first tokens that the entry counts: `credentialId` of each. */
        readonly tokenIds: readonly string[];
        /** The grant that ended with the token. */
        readonly grantId?: string | undefined;
      }
    | { readonly event: 'grant_revoked'; readonly grantIds: readonly string[] }
    | {
        readonly event: 'code_replayed' | 'refresh_token_replayed';
        /** The grant that ended because of the replay. */
        readonly grantId?: string | undefined;
      }
    | { readonly event: 'code_guessed' }
    | { readonly event: 'pkce_challenge_reused' }
    | (Explained & { readonly event: 'signature_refused' | 'request_replayed' })
    | {
        readonly event: 'client_changed';
        readonly clientId: string;
        readonly change: ClientChange;
        /** The id of the secure key that was added or removed. */
        readonly keyId?: string | undefined;
      }
    | { readonly event: 'user_changed'; readonly userId: string; readonly change: UserChange }
    | { readonly event: 'organization_added'; readonly organizationId: string }
    | { readonly event: 'everything_revoked' }
    | { readonly event: 'revocations_replayed'; readonly changes: number }
    | {
        readonly event: 'bootstrap_applied';
        /** How many of each the file contains, changed or not. */
        readonly resources?: number;
        readonly organizations: number;
        readonly clients: number;
        readonly users: number;
      }
    | {
        readonly event: 'master_key_changed';
        readonly change: 'added' | 'rotated' | 'continued' | 'retired';
        readonly keyId: string;
      }
    | { readonly event: 'signing_key_made'; readonly purpose: string; readonly kid: string }
  );

export type AuditEventName = AuditEvent['event'];

export interface AuditEventKind {
  readonly severity: AuditSeverity;
  /** Replaces `severity` if the event names neither a registered client nor an existing user. */
  readonly severityOfUnknown?: 'noise';
  readonly outcome: 'success' | 'failure';
  /** Events that differ only in time and request share one entry, which counts them. */
  readonly isAggregated: boolean;
}

/**
 * Each severity has a separate trail, so an attacker cannot displace entries with events that are
 * cheaper to cause.
 *
 * - `alert`: a stolen credential or a locked account
 * - `warning`: a failure of a known client or user
 * - `notice`: a change
 * - `info`: a success
 * - `noise`: a failure without a known client or user
 */
export const auditSeverities = ['alert', 'warning', 'notice', 'info', 'noise'] as const;

export type AuditSeverity = (typeof auditSeverities)[number];

const alert = { severity: 'alert', outcome: 'failure', isAggregated: true } as const;
const failure = {
  severity: 'warning',
  severityOfUnknown: 'noise',
  outcome: 'failure',
  isAggregated: true,
} as const;
const change = { severity: 'notice', outcome: 'success', isAggregated: false } as const;
const success = { severity: 'info', outcome: 'success' } as const;

export const auditEvents: Readonly<Record<AuditEventName, AuditEventKind>> = {
  sign_in_succeeded: { ...success, isAggregated: false },
  sign_in_failed: failure,
  account_locked: { ...alert, severityOfUnknown: 'noise' },
  sign_out: { ...success, isAggregated: false },
  client_authentication_failed: failure,
  token_issued: { ...success, isAggregated: true },
  token_revoked: { ...success, isAggregated: true },
  grant_revoked: change,
  code_replayed: alert,
  code_guessed: alert,
  refresh_token_replayed: alert,
  pkce_challenge_reused: alert,
  signature_refused: failure,
  request_replayed: alert,
  client_changed: change,
  user_changed: change,
  organization_added: change,
  everything_revoked: change,
  revocations_replayed: change,
  bootstrap_applied: change,
  master_key_changed: change,
  signing_key_made: change,
};

/**
 * `account_locked` and `sign_in_failed` concern a user. They are noise if the user is unknown, even
 * if the client is known.
 */
export function severityOf(event: AuditEvent): AuditSeverity {
  const { severity, severityOfUnknown } = auditEvents[event.event];
  const concernsUser = event.event === 'sign_in_failed' || event.event === 'account_locked';
  const party = concernsUser ? event.userId : (event.clientId ?? event.userId);
  return party === undefined ? (severityOfUnknown ?? severity) : severity;
}

/** The source of an event. */
export interface AuditOrigin {
  /** The app, or `cli`. */
  readonly actor: string;
  /** The name of the operating system user who ran the command. */
  readonly operator?: string | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
}

/** A stored event. */
export type AuditEntry = AuditEvent &
  AuditOrigin & {
    readonly id: string;
    /** The time of the first event: ISO 8601 in UTC with milliseconds, which sorts as text. */
    readonly at: string;
    readonly severity: AuditSeverity;
    readonly outcome: AuditEventKind['outcome'];
    /**
     * The number of events if there is more than one. Address and request are those of the first.
     */
    readonly count?: number;
    /** The time of the last event if there is more than one. */
    readonly lastAt?: string;
    /**
     * The entry covers several clients, users or reasons, because the origin exhausted its share.
     */
    readonly isSummary?: true;
  };

/** The time of the last event that an entry counts. */
export function lastTimeOf({ at, lastAt }: Pick<AuditEntry, 'at' | 'lastAt'>): string {
  return lastAt ?? at;
}
