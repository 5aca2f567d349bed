import type { SignInReasonName } from '@gatehouse/errors';
import type { AuditedChange } from './audited-changes.ts';

/**
 * Where a user entered a password: the sign-in page of an application or of a device code, the
 * token endpoint, or the account page. Or an upstream provider identified the user.
 */
export type SignInMethod = 'page' | 'device_code' | 'password_grant' | 'account_page' | 'upstream';

const changeNames = ['added', 'changed', 'enabled', 'disabled', 'revoked', 'removed'] as const;
export const clientChangeNames = [...changeNames, 'key_added', 'key_removed'] as const;
export const userChangeNames = [
  ...changeNames,
  'password_changed',
  'reset_link_issued',
  'factor_enrolled',
  'factors_removed',
  'recovery_codes_renewed',
  'recovery_code_used',
  'passkey_added',
  'passkey_removed',
  'email_verified',
  'unlocked',
  'upstream_linked',
  'upstream_unlinked',
] as const;

export type UserChange = (typeof userChangeNames)[number];

/** The known parties. Never a username as entered, which can be a password in the wrong field. */
interface Parties {
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
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

interface EventKind<Members> {
  readonly severity: AuditSeverity;
  /** Replaces `severity` if the event names neither a registered client nor an existing user. */
  readonly severityOfUnknown?: 'noise';
  readonly outcome: 'success' | 'failure';
  /** Events that differ only in time and request share one entry, which counts them. */
  readonly isAggregated: boolean;
  /** Only a type: what an event has in addition to its known parties. */
  readonly members?: Members;
}

const alert = { severity: 'alert', outcome: 'failure', isAggregated: true } as const;
const failure = {
  severity: 'warning',
  severityOfUnknown: 'noise',
  outcome: 'failure',
  isAggregated: true,
} as const;
const change = { severity: 'notice', outcome: 'success', isAggregated: false } as const;
const success = { severity: 'info', outcome: 'success', isAggregated: false } as const;
const countedSuccess = { ...success, isAggregated: true } as const;

type Plain = EventKind<object>;
/** A name of `packages/errors`. Absent in entries of earlier releases. */
type Explanation = { reason?: string | undefined };
type Explained = EventKind<Explanation>;
/** The id of the upstream provider, if one was involved. */
type AtUpstream = { upstream?: string | undefined };
/** The grant that ended because of the replay. */
type EndedGrant = EventKind<{ grantId?: string | undefined }>;

/**
 * All audited events. No member contains a secret, a token, a code or text that a user entered. The
 * values in `changes` passed the rules of the record, and those of users are encrypted.
 */
export const auditEvents = {
  sign_in_succeeded: success as EventKind<
    {
      method: SignInMethod;
      userId: string;
      /** How the user proved it (RFC 8176), if it took more than the password. */
      amr?: readonly string[] | undefined;
    } & AtUpstream
  >,
  sign_in_failed: failure as EventKind<
    { method: SignInMethod; reason: SignInReasonName } & AtUpstream
  >,
  /** Two authenticators have its key: its counter decreased. */
  passkey_copied: alert as Plain,
  account_locked: { ...alert, severityOfUnknown: 'noise' } as Plain,
  sign_out: success as EventKind<{ userId: string; everywhere: boolean }>,
  logout_undelivered: failure as EventKind<{ clientId: string; userId: string }>,
  mail_sent: countedSuccess as EventKind<{ mail: string }>,
  /** After the last attempt, or because the mail server rejected the address. */
  mail_undelivered: failure as EventKind<{ mail: string }>,
  client_authentication_failed: failure as EventKind<Explanation & { endpoint: string }>,
  token_issued: countedSuccess as EventKind<{
    clientId: string;
    grant: string;
    scope?: string | undefined;
  }>,
  token_revoked: countedSuccess as EventKind<{
    kind: string;
    /** The first tokens that the entry counts: `credentialId` of each. */
    tokenIds: readonly string[];
    /** The grant that ended with the token. */
    grantId?: string | undefined;
  }>,
  grant_revoked: change as EventKind<{ grantIds: readonly string[] }>,
  code_replayed: alert as EndedGrant,
  code_guessed: alert as Plain,
  refresh_token_replayed: alert as EndedGrant,
  pkce_challenge_reused: alert as Plain,
  signature_refused: failure as Explained,
  request_replayed: alert as Explained,
  client_changed: change as EventKind<{
    clientId: string;
    change: (typeof clientChangeNames)[number];
    /** The id of the secure key that was added or removed. */
    keyId?: string | undefined;
    /** With `changed`: what the members were and are. */
    changes?: readonly AuditedChange[] | undefined;
  }>,
  user_changed: change as EventKind<{
    userId: string;
    change: UserChange;
    changes?: readonly AuditedChange[] | undefined;
    /** The values of personal members, encrypted with a key of the user. */
    personal?: string | undefined;
    upstream?: string | undefined;
  }>,
  organization_added: change as EventKind<{ organizationId: string }>,
  organization_changed: change as EventKind<{
    organizationId: string;
    changes: readonly AuditedChange[];
  }>,
  /** With its clients and users, of which each has an entry unless there are many. */
  organization_removed: change as EventKind<{
    organizationId: string;
    clients: number;
    users: number;
  }>,
  invitation_issued: change as EventKind<{ organizationId: string }>,
  invitation_withdrawn: change as Plain,
  registration_token_issued: change as EventKind<{ count: number }>,
  everything_revoked: change as Plain,
  revocations_replayed: change as EventKind<{ changes: number }>,
  /** How many of each the file contains, changed or not. */
  bootstrap_applied: change as EventKind<
    Record<'organizations' | 'clients' | 'users', number> & {
      resources?: number;
      /** The members of the settings that it changed. */
      settings?: readonly string[];
    }
  >,
  settings_changed: change as EventKind<{ changes: readonly AuditedChange[] }>,
  /** Processes load their configuration again. */
  reload_requested: change as Plain,
  master_key_changed: change as EventKind<{
    change: 'added' | 'rotated' | 'continued' | 'retired';
    keyId: string;
  }>,
  signing_key_made: change as EventKind<{ purpose: string; kid: string }>,
};

type AuditEventName = keyof typeof auditEvents;

type Members<Kind> = Kind extends EventKind<infer Found> ? Readonly<Found> : never;

export type AuditEvent = {
  readonly [Name in AuditEventName]: Parties &
    Members<(typeof auditEvents)[Name]> & { readonly event: Name };
}[AuditEventName];

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
  /** Who acted: the operating system user who ran a command, or the id of a user or client. */
  readonly operator?: string | undefined;
  /** The session of an operator. It cannot be used as a credential. */
  readonly session?: string | undefined;
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
    readonly outcome: 'success' | 'failure';
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
export const lastTimeOf = ({ at, lastAt }: Pick<AuditEntry, 'at' | 'lastAt'>): string =>
  lastAt ?? at;
