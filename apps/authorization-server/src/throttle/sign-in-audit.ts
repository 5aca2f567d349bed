import type { IncomingMessage } from 'node:http';
import type { SignInReasonName } from '@gatehouse/errors';
import type { Identity, SignInMethod } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { requestOrigin, thisServer } from '../requests/caller.ts';

/** One attempt to sign in, by any method. */
export interface AuditedAttempt {
  readonly method: SignInMethod;
  /**
   * As typed. It is looked up but never stored, because it may be a password in the wrong field.
   */
  readonly username: string;
  /** The client that the user signs in to. */
  readonly clientId?: string | undefined;
  readonly request?: IncomingMessage | undefined;
}

export type SignInAudit = ReturnType<typeof createSignInAudit>;

/**
 * For the sign-in page, the password grant and their throttle. Each call adds one entry. A reason
 * of a failure is also in the log line. No reply contains it.
 */
export function createSignInAudit({ audit, users }: Pick<Identity, 'audit' | 'users'>) {
  /**
   * The reply does not wait for this lookup, so its timing does not reveal whether the user exists.
   */
  function withUser(username: string, then: (userId: string | undefined) => void): void {
    users.findByUsername(username).then(
      (user) => then(user?.userId),
      () => then(undefined),
    );
  }

  const originOf = ({ request }: AuditedAttempt) =>
    request === undefined ? thisServer : requestOrigin(request);

  return {
    succeeded(attempt: AuditedAttempt, userId: string): void {
      const { method, clientId } = attempt;
      audit.record({ event: 'sign_in_succeeded', method, clientId, userId }, originOf(attempt));
    },
    failed(attempt: AuditedAttempt, reason: SignInReasonName): void {
      const { method, username, clientId, request } = attempt;
      const origin = originOf(attempt);
      if (request !== undefined) {
        observedRequest(request).notes.reason = reason;
      }
      withUser(username, (userId) => {
        audit.record({ event: 'sign_in_failed', method, reason, clientId, userId }, origin);
      });
    },
    /**
     * Called with the failure that locks the account or the known device. Later attempts are
     * failures with the reason `account_locked`.
     */
    locked(attempt: AuditedAttempt): void {
      const { username, clientId } = attempt;
      const origin = originOf(attempt);
      withUser(username, (userId) => {
        audit.record({ event: 'account_locked', clientId, userId }, origin);
      });
    },
  };
}
