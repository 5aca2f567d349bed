import { randomBytes } from 'node:crypto';

/** The result of a sign-in. The browser gets only its id, in a cookie. */
export interface BrowserSession {
  readonly code: string;
  readonly accessToken: string;
}

export interface BrowserSessions {
  find(cookieHeader: string | undefined): BrowserSession | undefined;
  /** @returns the value of `Set-Cookie` */
  start(session: BrowserSession): string;
}

const COOKIE = 'demo-application';
const MAXIMUM_SESSIONS = 100;

/** Keeps the sessions in memory, so a restart of the application ends them. */
export function createBrowserSessions(): BrowserSessions {
  const sessions = new Map<string, BrowserSession>();
  return {
    find(cookieHeader = '') {
      const pair = cookieHeader.split('; ').find((each) => each.startsWith(`${COOKIE}=`));
      return sessions.get(pair?.slice(COOKIE.length + 1) ?? '');
    },
    start(session) {
      const id = randomBytes(32).toString('base64url');
      sessions.set(id, session);
      const [oldest = ''] = sessions.keys();
      if (sessions.size > MAXIMUM_SESSIONS) {
        sessions.delete(oldest);
      }
      return `${COOKIE}=${id}; HttpOnly; SameSite=Lax; Path=/`;
    },
  };
}
