import type { Configuration } from 'oidc-provider';

export type CookieOptions = ReturnType<typeof cookieOptions>;

export function cookieOptions(secureCookies: boolean) {
  return { httpOnly: true, sameSite: 'lax', secure: secureCookies, signed: true } as const;
}

/** The browser's cookies, all of them: names, attributes, and the keys that sign them. */
export function cookieSettings(settings: {
  readonly cookieKeys: readonly string[];
  readonly secureCookies: boolean;
}) {
  const { cookieKeys, secureCookies } = settings;
  const options = cookieOptions(secureCookies);
  // The short-lived ones are bound to a path, which `__Host-` does not allow.
  const names = secureCookies
    ? {
        session: '__Host-session',
        interaction: '__Secure-interaction',
        resume: '__Secure-resume',
      }
    : { session: 'session', interaction: 'interaction', resume: 'resume' };
  return {
    keys: [...cookieKeys],
    names,
    long: options,
    short: options,
  } satisfies Configuration['cookies'];
}
