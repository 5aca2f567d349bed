import type { MasterKey } from '@gatehouse/identity';
import type { Configuration } from 'oidc-provider';
import { providerRoutes } from '../../http/provider-routes.ts';
import { createSealedCookies, type SealedCookies } from '../../http/sealed-cookies.ts';
import { createCookieSignatures } from './cookie-signatures.ts';

export type CookieOptions = ReturnType<typeof cookieOptions>;

export function cookieOptions(secureCookies: boolean) {
  return { httpOnly: true, sameSite: 'lax', secure: secureCookies, signed: true } as const;
}

/** The provider's own cookies: names, attributes, and the keys that sign them. */
export function cookieSettings(settings: {
  readonly cookieKeys: readonly string[];
  readonly secureCookies: boolean;
}) {
  const { cookieKeys, secureCookies } = settings;
  const options = cookieOptions(secureCookies);
  // The short-lived cookies have a path, which `__Host-` does not allow.
  const names = secureCookies
    ? {
        session: '__Host-session',
        interaction: '__Secure-interaction',
        resume: '__Secure-resume',
      }
    : { session: 'session', interaction: 'interaction', resume: 'resume' };
  return {
    keys: createCookieSignatures(cookieKeys),
    names,
    long: options,
    short: options,
  } satisfies Configuration['cookies'];
}

/** State that the browser keeps for the server, limited to the pages that read it. */
export interface BrowserState {
  readonly interactions: SealedCookies;
  /** The username of the last failed attempt of an interaction, for the page that asks again. */
  readonly failedSignIns: SealedCookies;
  readonly sessions: SealedCookies;
}

export function createBrowserState(masterKey: MasterKey, secureCookies: boolean): BrowserState {
  const shared = { masterKey, secure: secureCookies };
  return {
    interactions: createSealedCookies({
      ...shared,
      name: 'sign-in',
      pathOf: (uid) => `/sign-in/${uid}`,
    }),
    failedSignIns: createSealedCookies({
      ...shared,
      name: 'failed-sign-in',
      pathOf: (uid) => `/sign-in/${uid}`,
    }),
    sessions: createSealedCookies({
      ...shared,
      name: 'device-form',
      pathOf: () => providerRoutes.code_verification,
    }),
  };
}
