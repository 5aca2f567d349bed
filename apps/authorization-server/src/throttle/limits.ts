/** docs/decisions/07-sign-in-throttle.md gives the reasons for these numbers. */
export interface Limit {
  readonly attempts: number;
  readonly windowSeconds: number;
}

const MINUTE = 60;

export { accountLimit } from '@gatehouse/identity';

/**
 * Sign-in attempts from one address for all accounts, or from all known devices of one user.
 * Successes count as well, against password spraying and endless hashing.
 */
export const addressLimit: Limit = { attempts: 300, windowSeconds: 15 * MINUTE };

/** Wrong secrets for one client from one address. */
export const failedSecretLimit: Limit = { attempts: 50, windowSeconds: 10 * MINUTE };

/** The window of requests from one address group. */
export const REQUEST_WINDOW_SECONDS = MINUTE;

/** To the client endpoints. CLIENT_REQUESTS_PER_MINUTE replaces it. */
export const DEFAULT_CLIENT_REQUESTS_PER_MINUTE = 6000;

/** To the pages. PAGE_REQUESTS_PER_MINUTE replaces it. A sign-in takes four to six requests. */
export const DEFAULT_PAGE_REQUESTS_PER_MINUTE = 1200;
