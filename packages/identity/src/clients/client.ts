import { z } from 'zod';
import { parseRecord } from '../records/parse-record.ts';

/** With HMAC-SHA-256, a client can use signature version 2 only. The others allow both versions. */
export const signatureAlgorithms = ['MD5', 'SHA-256', 'HMAC-SHA-256'] as const;

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

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
}

/**
 * New members need a default. Otherwise, existing records are treated as damaged. The next change of
 * a client deletes members of earlier versions, such as the secure keys that they kept after a
 * removal.
 */
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
});

/** The key of a client's record in the store. */
export const clientKey = (clientId: string): string => `client:${clientId}`;

/** Returns undefined if the record is damaged. */
export function parseClient(text: string): Client | undefined {
  return parseRecord(storedClient, text);
}
