import type { Identity, User } from '@gatehouse/identity';
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import type { Session } from 'oidc-provider';
import type { CookieOptions } from '../provider/browser-state.ts';
import { isSessionOf, sessionLifetime } from '../provider/lifetimes.ts';

/** The signed-in user of this browser. */
export interface SignedIn {
  readonly user: User;
  readonly session: Session;
  /** The owner of this session's form tokens. It changes at every sign-in. */
  readonly formOwner: string;
}

export interface AccountSessions {
  current(request: Request, response: Response): Promise<SignedIn | undefined>;
  /** Ends the session with its grants, and deletes its cookie. */
  end(request: Request, response: Response, session: Session): Promise<void>;
  /**
   * Continues with a new session id, as if the user signed in right after the not-before (ASVS
   * 7.2.4).
   */
  renew(request: Request, response: Response, user: User, session: Session): Promise<void>;
}

export function createAccountSessions(
  provider: Provider,
  identity: Identity,
  cookie: CookieOptions,
): AccountSessions {
  const setCookie = (request: Request, response: Response, session: Session | null) => {
    const { cookies } = provider.createContext(request, response);
    const expires = session === null ? {} : { expires: new Date(session.exp * 1000) };
    cookies.set(provider.cookieName('session'), session?.jti ?? null, { ...cookie, ...expires });
  };
  return {
    async current(request, response) {
      const session = await provider.Session.get(provider.createContext(request, response));
      const user = await identity.users.find(session.accountId ?? '');
      if (!isSessionOf(user, session)) {
        return undefined;
      }
      const formOwner = ['session', session.uid, user.userId, session.loginTs].join(' ');
      return { user, session, formOwner };
    },
    async end(request, response, session) {
      await session.destroy();
      setCookie(request, response, null);
    },
    async renew(request, response, user, session) {
      // Everything issued up to the user's not-before is invalid.
      session.loginAccount({ accountId: user.userId, loginTs: user.notBefore + 1 });
      session.resetIdentifier();
      await session.save(sessionLifetime(undefined, session));
      setCookie(request, response, session);
    },
  };
}
