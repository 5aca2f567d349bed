/**
 * Where a user typed a password: on the sign-in page for an application, on it for a device's code, at the token
 * endpoint, or again on the account page.
 */
export type SignInMethod = 'page' | 'device_code' | 'password_grant' | 'account_page';

export type ClientChange =
  | 'added'
  | 'changed'
  | 'enabled'
  | 'disabled'
  | 'key_added'
  | 'key_removed'
  | 'revoked';

export type UserChange = 'added' | 'enabled' | 'disabled' | 'password_changed' | 'revoked';

/** Whose credential, where that is known: ids only. A name that was typed may be a password in the wrong field. */
interface Parties {
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
}

/** Everything that is audited. No member ever holds a secret, a token, a code or typed text. */
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
        readonly reason: 'credentials' | 'throttled' | 'disabled' | 'not_allowed';
      }
    | { readonly event: 'account_locked' }
    | { readonly event: 'sign_out'; readonly userId: string; readonly everywhere: boolean }
    | { readonly event: 'client_authentication_failed'; readonly endpoint: string }
    | {
        readonly event: 'token_issued';
        readonly clientId: string;
        readonly grant: string;
        readonly scope?: string | undefined;
      }
    | { readonly event: 'token_revoked'; readonly kind: string }
    | { readonly event: 'grant_revoked' }
    | { readonly event: 'code_replayed' }
    | { readonly event: 'code_guessed' }
    | { readonly event: 'refresh_token_replayed' }
    | { readonly event: 'pkce_challenge_reused' }
    | { readonly event: 'signature_refused' }
    | { readonly event: 'request_replayed' }
    | {
        readonly event: 'client_changed';
        readonly clientId: string;
        readonly change: ClientChange;
        /** Fingerprint of the secureKey that was added or removed. */
        readonly keyId?: string | undefined;
      }
    | { readonly event: 'user_changed'; readonly userId: string; readonly change: UserChange }
    | { readonly event: 'organization_added'; readonly organizationId: string }
    | { readonly event: 'everything_revoked' }
    | { readonly event: 'signing_key_made'; readonly purpose: string; readonly kid: string }
  );

export type AuditEventName = AuditEvent['event'];

export interface AuditEventKind {
  readonly severity: AuditSeverity;
  /** The severity when neither a registered client nor an existing user is named, where that makes it another. */
  readonly severityOfUnknown?: 'noise';
  readonly outcome: 'success' | 'failure';
  /** Events that differ in nothing but time and request share one entry, which counts them. */
  readonly isAggregated: boolean;
}

/**
 * Each severity has a trail of its own, so that an attacker cannot push out an entry with events that are cheaper to
 * cause: `alert`, a stolen credential or a locked account; `warning`, a failure of a known client or user; `noise`, a
 * failure of nobody known; `notice`, a change; `info`, daily business.
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
const business = { severity: 'info', outcome: 'success' } as const;

export const auditEvents: Readonly<Record<AuditEventName, AuditEventKind>> = {
  sign_in_succeeded: { ...business, isAggregated: false },
  sign_in_failed: failure,
  account_locked: { ...alert, severityOfUnknown: 'noise' },
  sign_out: { ...business, isAggregated: false },
  client_authentication_failed: failure,
  token_issued: { ...business, isAggregated: true },
  token_revoked: { ...business, isAggregated: true },
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
  signing_key_made: change,
};

/** `account_locked` and `sign_in_failed` concern a user: that the client is known says nothing about the account. */
export function severityOf(event: AuditEvent): AuditSeverity {
  const { severity, severityOfUnknown } = auditEvents[event.event];
  const concernsUser = event.event === 'sign_in_failed' || event.event === 'account_locked';
  const party = concernsUser ? event.userId : (event.clientId ?? event.userId);
  return party === undefined ? (severityOfUnknown ?? severity) : severity;
}

/** Where an event came from. */
export interface AuditOrigin {
  /** The app, or `cli`. */
  readonly actor: string;
  /** Of a command: the user name that the machine reports. */
  readonly operator?: string | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
}

/** An event as it is kept. */
export type AuditEntry = AuditEvent &
  AuditOrigin & {
    readonly id: string;
    /** ISO 8601, UTC, milliseconds: sorts as text. Of the first event, where the entry counts several. */
    readonly at: string;
    readonly severity: AuditSeverity;
    readonly outcome: AuditEventKind['outcome'];
    /** How many events the entry stands for, where that is more than one. Address and request are the first one's. */
    readonly count?: number;
    /** Of the last of them, as `at`. */
    readonly lastAt?: string;
    /** Of several clients, users or reasons: their origin used up its share of the trail for today. */
    readonly isSummary?: true;
  };

/** When an entry's last event happened. */
export function lastTimeOf({ at, lastAt }: Pick<AuditEntry, 'at' | 'lastAt'>): string {
  return lastAt ?? at;
}
