import type { IncomingMessage } from 'node:http';
import type { AuditEvent, Identity, SignInMethod } from '@gatehouse/identity';
import { requestOrigin } from './request-origin.ts';

/** One attempt to sign in, however it was made. */
export interface SignInAttempt {
  readonly method: SignInMethod;
  /** As it was typed: looked up, and never stored. It may be a password in the wrong field. */
  readonly username: string;
  readonly clientId?: string | undefined;
}

type Failure = Extract<AuditEvent, { readonly event: 'sign_in_failed' }>['reason'];

/** For the sign-in page, the password grant and the throttle they share. Each call is one entry. */
export interface SignInAudit {
  succeeded(
    request: IncomingMessage,
    attempt: Omit<SignInAttempt, 'username'>,
    userId: string,
  ): void;
  failed(request: IncomingMessage, attempt: SignInAttempt, reason: Failure): void;
  /** When an account becomes locked, not for every attempt while it is: those are failures, `throttled`. */
  locked(request: IncomingMessage, attempt: SignInAttempt): void;
}

export function createSignInAudit({ audit, users }: Identity): SignInAudit {
  /** The account a name belongs to. The reply does not wait for it, so its timing does not tell who exists. */
  function withUser(username: string, then: (userId: string | undefined) => void): void {
    users.findByUsername(username).then(
      (user) => then(user?.userId),
      () => then(undefined),
    );
  }

  return {
    succeeded(request, { method, clientId }, userId) {
      audit.record(
        { event: 'sign_in_succeeded', method, clientId, userId },
        requestOrigin(request),
      );
    },
    failed(request, { method, username, clientId }, reason) {
      const origin = requestOrigin(request);
      withUser(username, (userId) => {
        audit.record({ event: 'sign_in_failed', method, reason, clientId, userId }, origin);
      });
    },
    locked(request, { username, clientId }) {
      const origin = requestOrigin(request);
      withUser(username, (userId) => {
        audit.record({ event: 'account_locked', clientId, userId }, origin);
      });
    },
  };
}
