/**
 * Where somebody typed a password: on the sign-in page for an application, on it for a device's code, at the
 * token endpoint, or again on the account page.
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

/** Everything that is audited. No member ever holds a secret, a token, a code or what somebody typed. */
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
        /** Fingerprint of the secureKey that came or went. */
        readonly keyId?: string | undefined;
      }
    | { readonly event: 'user_changed'; readonly userId: string; readonly change: UserChange }
    | { readonly event: 'organization_added'; readonly organizationId: string }
    | { readonly event: 'everything_revoked' }
    | { readonly event: 'signing_key_made'; readonly purpose: string; readonly kid: string }
  );

export type AuditEventName = AuditEvent['event'];

/**
 * Four trails, so that a flood of one kind (a busy client, somebody guessing) does not push out another:
 * what operators changed, what went wrong at the authorization server, what went wrong with signed requests,
 * and the daily business.
 */
export type AuditTrailName = 'changes' | 'security' | 'signatures' | 'activity';

export interface AuditEventKind {
  readonly trail: AuditTrailName;
  readonly outcome: 'success' | 'failure';
}

export const auditEvents: Readonly<Record<AuditEventName, AuditEventKind>> = {
  sign_in_succeeded: { trail: 'activity', outcome: 'success' },
  sign_in_failed: { trail: 'security', outcome: 'failure' },
  account_locked: { trail: 'security', outcome: 'failure' },
  sign_out: { trail: 'activity', outcome: 'success' },
  client_authentication_failed: { trail: 'security', outcome: 'failure' },
  token_issued: { trail: 'activity', outcome: 'success' },
  token_revoked: { trail: 'changes', outcome: 'success' },
  grant_revoked: { trail: 'changes', outcome: 'success' },
  code_replayed: { trail: 'security', outcome: 'failure' },
  code_guessed: { trail: 'security', outcome: 'failure' },
  refresh_token_replayed: { trail: 'security', outcome: 'failure' },
  pkce_challenge_reused: { trail: 'security', outcome: 'failure' },
  signature_refused: { trail: 'signatures', outcome: 'failure' },
  request_replayed: { trail: 'signatures', outcome: 'failure' },
  client_changed: { trail: 'changes', outcome: 'success' },
  user_changed: { trail: 'changes', outcome: 'success' },
  organization_added: { trail: 'changes', outcome: 'success' },
  everything_revoked: { trail: 'changes', outcome: 'success' },
  signing_key_made: { trail: 'changes', outcome: 'success' },
};

/** Where an event came from. */
export interface AuditOrigin {
  /** The app, or `cli`. */
  readonly actor: string;
  /** Of a command: who the machine says ran it. */
  readonly operator?: string | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
}

/** An event as it is kept. */
export type AuditEntry = AuditEvent &
  AuditOrigin & {
    readonly id: string;
    /** ISO 8601, UTC, milliseconds: sorts as text. */
    readonly at: string;
    readonly outcome: AuditEventKind['outcome'];
  };
