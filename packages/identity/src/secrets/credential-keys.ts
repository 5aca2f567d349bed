import { createHmac, createSecretKey } from 'node:crypto';
import { lastingKey, type MasterKey } from './master-key.ts';

/**
 * The store key of a credential of the authorization server. Operators also need it to revoke the
 * credential. It contains an HMAC of the value. Grant ids are not credentials and stay readable.
 */
export function credentialKey(model: string, hashedValue: string): string {
  return accessTokenKinds.has(model) ? accessTokenKey(hashedValue) : `oidc:${model}:${hashedValue}`;
}

/** Both kinds of access tokens have the same key prefix, so that verification costs one read. */
export const accessTokenKinds: ReadonlySet<string> = new Set(['AccessToken', 'ClientCredentials']);

export function accessTokenKey(hashedToken: string): string {
  return `token:${hashedToken}`;
}

/** The session of a user at a host in `browserHosts`. */
export const browserSessionKey = (hashedToken: string): string => `browser-session:${hashedToken}`;

export const xAccessTokenKey = (hashedToken: string): string => `x-access-token:${hashedToken}`;

/** The index of the X-Access-Tokens of a client. */
export const xAccessTokensKey = (clientId: string): string => `x-access-tokens:${clientId}`;

/** The ids of a user's grants. Revoked grants stay in the index until they are looked up. */
export const userGrantsKey = (userId: string): string => `user-grants:${userId}`;
/**
 * The keys of a user's sessions. Ended sessions stay in the index until they would have expired.
 */
export const userSessionsKey = (userId: string): string => `user-sessions:${userId}`;

/** Points to the session with this uid. */
export const sessionUidKey = (hashedUid: string): string => `oidc:Session:uid:${hashedUid}`;

/** Set when a session ends: a concurrent request must not write the session back. */
export const endedSessionKey = (hashedUid: string): string => `session-ended:${hashedUid}`;
/** No request that could write an ended session back takes longer than this. */
export const endedSessionSeconds = 60 * 60;

/** The key that decrypts the values of a user in the audit trail, until it is deleted. */
export const auditKeyOf = (userId: string): string => `audit-key:${userId}`;

export const grantKey = (grantId: string): string => `grant:${grantId}`;
/** The index of the credentials that were issued under a grant. */
export const grantMembersKey = (grantId: string): string => `grant-members:${grantId}`;
/** Written before a grant is deleted. Credentials that are issued later are revoked. */
export const grantTombstoneKey = (grantId: string): string => `grant-tombstone:${grantId}`;

/** The last but one characters of keys that end with base64url. */
export const clientRecordShards = [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
];

/**
 * The index of the grants of a client, and of its tokens without a grant. A client can have
 * hundreds of thousands, so a character of the key selects one of 64 indexes.
 */
export const clientRecordsKey = (clientId: string, key: string): string =>
  clientShardKey(clientId, key.at(-2) ?? '');

export const clientShardKey = (clientId: string, shard: string): string =>
  `client-records:${shard}:${clientId}`;

const DAY = 24 * 60 * 60;

/** Of a grant without a readable record. */
const USUAL_GRANT_SECONDS = 60 * DAY;

/**
 * How long the tombstone of a grant is kept: as long as the grant could have lived.
 *
 * @param record of the grant. Nothing in it can be a secret
 */
export function tombstoneSeconds(record: string | undefined, nowMilliseconds: number): number {
  const [, expiresAt] = /"exp":(\d+)/.exec(record ?? '') ?? [];
  const left = Number(expiresAt) - Math.floor(nowMilliseconds / 1000);
  return Number.isFinite(left) ? Math.max(1, left) : USUAL_GRANT_SECONDS;
}

/**
 * HMAC-SHA-256(pepper, value) in base64url. Tokens, codes and session ids are stored only like
 * this.
 */
export type CredentialHash = (value: string) => string;

/** Names a token or code in the audit trail. It cannot be used as a credential. */
export const credentialId = (hashedValue: string): string => hashedValue.slice(0, 16);

export function createCredentialHash(masterKey: MasterKey): CredentialHash {
  const pepper = createSecretKey(lastingKey(masterKey, 'credential-pepper'));
  return (value) => createHmac('sha256', pepper).update(value).digest('base64url');
}
