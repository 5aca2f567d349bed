/**
 * Where the authorization server keeps what it issues: named here, because operators revoke it without the
 * server. Credentials are found under their HMAC; the id of a grant is no credential and stays readable.
 */
export function credentialKey(model: string, hashedValue: string): string {
  return accessTokenKinds.has(model) ? accessTokenKey(hashedValue) : `oidc:${model}:${hashedValue}`;
}

/** The kinds that are access tokens: both live under one key prefix, so that a token costs one read. */
export const accessTokenKinds: ReadonlySet<string> = new Set(['AccessToken', 'ClientCredentials']);

export function accessTokenKey(hashedToken: string): string {
  return `token:${hashedToken}`;
}

/** Tokens of Method B. */
export const xAccessTokenKey = (hashedToken: string): string => `x-access-token:${hashedToken}`;

export const grantKey = (grantId: string): string => `grant:${grantId}`;
/** The index of what was issued under a grant. */
export const grantMembersKey = (grantId: string): string => `grant-members:${grantId}`;
/** Written before a grant goes: what is issued under it afterwards is taken back. */
export const grantTombstoneKey = (grantId: string): string => `grant-tombstone:${grantId}`;

const DAY = 24 * 60 * 60;

/** Longer than any refresh token: a grant outlives what it gave. */
export const GRANT_LIFETIME_SECONDS: number = 60 * DAY;
