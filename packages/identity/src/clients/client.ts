import { deviceScopes } from '@gatehouse/device-api';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';

/** With HMAC-SHA-256, a client can use signature version 2 only. The others allow both versions. */
export const signatureAlgorithms = ['MD5', 'SHA-256', 'HMAC-SHA-256'] as const;

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/**
 * A secure key that is no longer accepted. Gatehouse keeps it to tell its holder that it was
 * removed (docs/decisions/17-secure-keys.md).
 */
export interface RemovedKey {
  /** In another context than active keys, so that a copy among them cannot be decrypted. */
  readonly sealed: string;
  /** Epoch seconds. */
  readonly removedAt: number;
}

/** A registered OAuth client. A public client has no secure key. */
export interface Client {
  readonly clientId: string;
  readonly name: string;
  readonly orgId: string;
  readonly signatureAlgorithm: SignatureAlgorithm;
  readonly grantTypes: readonly string[];
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly scopes: readonly string[];
  readonly applicationType: 'web' | 'native';
  readonly public: boolean;
  readonly firstParty: boolean;
  readonly resourceServer: boolean;
  readonly ownOrganizationOnly: boolean;
  readonly corsOrigins: readonly string[];
  readonly ipAllowList: readonly string[];
  readonly enabled: boolean;
  /** Epoch seconds. Credentials that were issued at this time or earlier are revoked. */
  readonly notBefore: number;
  /** Encrypted, newest first, at most two. */
  readonly sealedSecureKeys: readonly string[];
  /** Epoch seconds by key id. */
  readonly secureKeyCreatedAt: Readonly<Record<string, number>>;
  /** Keys that an operator removed. A bootstrap file cannot add them again. */
  readonly removedKeyIds: readonly string[];
  /** Keys that are no longer active, but whose tokens stay valid until they expire. */
  readonly keptKeyIds: readonly string[];
  /** Never accepted. Newest first, at most two. */
  readonly removedKeys: readonly RemovedKey[];
}

/** New members need a default. Otherwise, existing records are treated as damaged. */
const storedClient: z.ZodType<Client> = z.object({
  clientId: z.string(),
  name: z.string(),
  orgId: z.string(),
  signatureAlgorithm: z.enum(signatureAlgorithms),
  grantTypes: z.array(z.string()),
  redirectUris: z.array(z.string()),
  postLogoutRedirectUris: z.array(z.string()),
  scopes: z.array(z.string()),
  applicationType: z.enum(['web', 'native']),
  public: z.boolean(),
  firstParty: z.boolean(),
  resourceServer: z.boolean(),
  ownOrganizationOnly: z.boolean(),
  corsOrigins: z.array(z.string()),
  ipAllowList: z.array(z.string()),
  enabled: z.boolean(),
  notBefore: z.number(),
  sealedSecureKeys: z.array(z.string()),
  secureKeyCreatedAt: z.record(z.string(), z.number()).default({}),
  removedKeyIds: z.array(z.string()).default([]),
  keptKeyIds: z.array(z.string()).default([]),
  removedKeys: z.array(z.object({ sealed: z.string(), removedAt: z.number() })).default([]),
});

/** The key of a client's record in the store. */
export const clientKey = (clientId: string): string => `client:${clientId}`;

/** Returns undefined if the record is damaged. */
export function parseClient(text: string): Client | undefined {
  return parseRecord(storedClient, text);
}

/** The scopes of OpenID Connect. A client_credentials token never has one. */
export const identityScopes = ['openid', 'profile', 'email', 'groups', 'offline_access'] as const;

export const knownScopes = [...deviceScopes, ...identityScopes] as const;

export type Scope = (typeof knownScopes)[number];
