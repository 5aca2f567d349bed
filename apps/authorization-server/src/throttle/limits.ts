/** How much is too much, and for how long. docs/decisions/0019-sign-in-throttle.md says why these numbers. */
export interface Limit {
  readonly attempts: number;
  readonly windowSeconds: number;
}

const MINUTE = 60;

/** Wrong passwords for one account, or from one known device; an attempt counts until it is known to be none. */
export const accountLimit: Limit = { attempts: 10, windowSeconds: 15 * MINUTE };

/** Sign-in attempts from one address, for whatever accounts: a success gives nothing back (spraying). */
export const addressLimit: Limit = { attempts: 300, windowSeconds: 15 * MINUTE };

/** Wrong passwords through one client; counted likewise. */
export const clientLimit: Limit = { attempts: 3000, windowSeconds: 15 * MINUTE };

/** Wrong secrets for one client from one address. */
export const failedSecretLimit: Limit = { attempts: 50, windowSeconds: 10 * MINUTE };

/** The window of requests from one address group. */
export const REQUEST_WINDOW_SECONDS = MINUTE;

/** To the client endpoints: what an operator's CLIENT_REQUESTS_PER_MINUTE replaces. */
export const DEFAULT_CLIENT_REQUESTS_PER_MINUTE = 6000;

/** To the pages: what an operator's PAGE_REQUESTS_PER_MINUTE replaces. A sign-in takes four to six of them. */
export const DEFAULT_PAGE_REQUESTS_PER_MINUTE = 1200;
