import { z } from 'zod';
import { parseRecord } from '../records/parse-record.ts';

/** How the client signs requests. With HMAC-SHA-256 it uses version 2 of the signature only; others may use both. */
export const signatureAlgorithms = ['MD5', 'SHA-256', 'HMAC-SHA-256'] as const;

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/** An application or machine that holds a secureKey, or a public one that holds none. */
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
  /** Epoch seconds: what was issued then or earlier is dead. */
  readonly notBefore: number;
  /** Newest first, sealed; at most two are active at a time. */
  readonly sealedSecureKeys: readonly string[];
  /** Epoch seconds by key id. */
  readonly secureKeyCreatedAt: Readonly<Record<string, number>>;
  /** Ids of the keys that an operator removed: a bootstrap file that still names one does not revive it. */
  readonly removedKeyIds: readonly string[];
  /** Ids of keys that are no longer active, but whose tokens stay valid until they expire. */
  readonly keptKeyIds: readonly string[];
}

/** A member that a later version adds needs a default here, or older records no longer count. */
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

/** The client a stored text describes, or undefined when it is damaged. */
export function parseClient(text: string): Client | undefined {
  return parseRecord(storedClient, text);
}
