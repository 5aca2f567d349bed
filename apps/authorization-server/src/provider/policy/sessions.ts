/**
 * A person's session in one browser. The provider keeps it and its cookie; decided here: how long it lives, that
 * it takes with it what it gave when it ends, and that nothing brings an ended one back.
 */
import type { Identity, User } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { Session } from 'oidc-provider';
import { lifetimes } from './lifetimes.ts';

/** A session without a person holds no more than the token of one form, and is kept in the browser. */
const ANONYMOUS_SECONDS = 60 * 60;
/** No request runs longer than this. */
const ENDED_SECONDS = 60 * 60;

/** Called by the library as `ttl.Session`. */
export function sessionLifetime(_context: unknown, session: Pick<Session, 'accountId'>): number {
  return session.accountId === undefined ? ANONYMOUS_SECONDS : lifetimes.Session;
}

/** Set when a session was ended: a request that was under way meanwhile must not write it back. */
export function endedSessionKey(hashedUid: string): string {
  return `session-ended:${hashedUid}`;
}

/**
 * Makes `Session.destroy`, which the library calls at logout, end the session's grants first: it revokes nothing
 * itself where tokens are not bound to the session. If the store fails midway, the session is still there.
 */
export function endGrantsWithSession(
  provider: Provider,
  { store, credentialHash }: Pick<Identity, 'store' | 'credentialHash'>,
): void {
  const session = provider.Session.prototype;
  const { destroy, persist } = session;
  session.destroy = async function destroyWithGrants() {
    // An anonymous session is not in the store, so nobody can write it back, and anybody can end any number of them.
    if (this.accountId !== undefined) {
      const key = endedSessionKey(credentialHash(this.uid));
      await store.set(key, '', ENDED_SECONDS, { revokes: true });
    }
    for (const { grantId } of Object.values(this.authorizations ?? {})) {
      const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
      await grant?.destroy();
    }
    await destroy.call(this);
  };
  // Where a page about an error touches a session that was never kept, there is none to write back.
  session.persist = async function persistKept() {
    return typeof this.exp === 'number' ? persist.call(this) : this.jti;
  };
}

/** Whether this session still stands for this user: enabled, and not signed out everywhere since. */
export function isSessionOf(
  user: User | undefined,
  session: Pick<Session, 'accountId' | 'loginTs'>,
): user is User {
  return (
    user?.enabled === true &&
    user.userId === session.accountId &&
    (session.loginTs ?? 0) > user.notBefore
  );
}
