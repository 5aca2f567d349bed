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

/** From one address group, to the client endpoints. CLIENT_ENDPOINT_RATE_LIMIT replaces it. */
export const clientEndpointLimit = { requests: 6000, windowSeconds: MINUTE };

/** To the pages. PAGE_RATE_LIMIT replaces it. A sign-in takes four to six requests. */
export const pageLimit = { requests: 1200, windowSeconds: MINUTE };
