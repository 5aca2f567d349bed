import { isAddressOrRange } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { calledAddress, identifier, text } from '../records/record.ts';
import { secureKey } from '../secrets/secure-keys.ts';
import { clientLifetimes } from '../settings/lifetimes.ts';
import { resourceIdentifier, scopeName } from '../settings/resource.ts';
import { hasPublicKeys, publicKeySet } from './public-keys.ts';
import { isAllowedRedirectUri, redirectUriProblem } from './redirect-uris.ts';
import { registration } from './registration-tokens.ts';

/** With HMAC-SHA-256, a client can use signature version 2 only. The others allow both versions. */
const signatureAlgorithms = ['MD5', 'SHA-256', 'HMAC-SHA-256'] as const;

interface GrantFacts {
  /** Its authorization request ends at a redirect URI. */
  readonly redirects?: true;
  /** The `strict` profile rejects it for all clients (RFC 9700 §2.1.2, §2.4). */
  readonly isLegacy?: true;
  /** The platform endpoint serves it (Method C of the specification). */
  readonly isOfPlatform?: true;
  /**
   * With `isOfPlatform`: the parameters that the platform endpoint accepts, in addition to
   * `grant_type`, the client's and `scope`.
   */
  readonly parameters?: readonly string[];
  /** Those that belong into the body only: in a URL, they would reach logs and histories. */
  readonly secrets?: readonly string[];
}

/**
 * All grants, by the name that a token request and the registration of a client use. Those that the
 * library does not serve as they are have a function in `token/grants.ts` of the authorization server.
 */
const grantTypes = {
  authorization_code: {
    redirects: true,
    isOfPlatform: true,
    parameters: ['code', 'code_verifier', 'redirect_uri'],
    secrets: ['code'],
  },
  client_credentials: { isOfPlatform: true },
  refresh_token: { isOfPlatform: true, parameters: ['refresh_token'], secrets: ['refresh_token'] },
  password: { isLegacy: true, secrets: ['password'] },
  implicit: { redirects: true, isLegacy: true },
  'urn:ietf:params:oauth:grant-type:device_code': { secrets: ['device_code'] },
} as const satisfies Readonly<Record<string, GrantFacts>>;

type GrantType = keyof typeof grantTypes;

export const grantNames = Object.keys(grantTypes) as GrantType[];

/** Empty for an unknown grant. */
export const grantFacts = (name: string): GrantFacts => grantTypes[name as GrantType] ?? {};

const origin = z.string().refine((value) => {
  const url = URL.parse(value);
  return url?.origin === value && /^https?:$/.test(url.protocol);
}, 'must be an http(s) origin: scheme, host, port');

const addressOrRange = z.string().refine(isAddressOrRange, 'must be an address or CIDR range');

const redirectUri = z
  .string()
  .refine(
    (value) => isAllowedRedirectUri(value, 'native'),
    'must be https, loopback http, or the scheme of a native app, in normal form, without fragment, and without reply parameters such as code or state',
  );

/** A client without its secure key. The record in the store and its type derive from this schema. */
export const clientDefinition = z
  .strictObject({
    clientId: identifier.refine(
      (id) => !id.startsWith('gatehouse:'),
      'must not start with gatehouse:, which is reserved',
    ),
    name: text(200),
    orgId: identifier,
    signatureAlgorithm: z.enum(signatureAlgorithms).default('SHA-256'),
    grantTypes: z.array(z.enum(grantNames)).default(['client_credentials']),
    redirectUris: z.array(redirectUri).default([]),
    /** Of the device API, of OpenID Connect, and of declared resources. */
    scopes: z.array(scopeName).default([]),
    /** The resource of a token request that names none. Undefined: the device API. */
    defaultResource: resourceIdentifier.optional(),
    applicationType: z.enum(['web', 'native']).default('web'),
    public: z.boolean().default(false),
    firstParty: z.boolean().default(false),
    resourceServer: z.boolean().default(false),
    ownOrganizationOnly: z.boolean().default(false),
    enabled: z.boolean().optional(),
    corsOrigins: z.array(origin).default([]),
    postLogoutRedirectUris: z.array(redirectUri).default([]),
    ipAllowList: z.array(addressOrRange).default([]),
    /** Of the credentials of this client, in seconds. */
    lifetimes: clientLifetimes.optional(),
    /** Public keys for private_key_jwt. */
    jwks: publicKeySet.optional(),
    /** Instead of `jwks`: the address of the keys, which the client replaces by itself. */
    jwksUri: calledAddress.optional(),
    /** Receives a logout token when a user signs out. */
    backchannelLogoutUri: calledAddress.optional(),
    /** Its logout tokens and ID tokens name the session of the browser. */
    backchannelLogoutSessionRequired: z.boolean().optional(),
  })
  .superRefine((value, context) => {
    const problem = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message });
    if (value.public && hasPublicKeys(value)) {
      problem(['public'], 'a public client must not have public keys: jwks or jwksUri');
    }
    if (value.jwks !== undefined && value.jwksUri !== undefined) {
      problem(['jwksUri'], 'set either jwks or jwksUri, not both');
    }
    // RFC 6749 §4.4: only confidential clients may use this grant.
    if (value.public && value.grantTypes.includes('client_credentials')) {
      problem(['grantTypes'], 'a public client cannot use client_credentials');
    }
    const redirects = value.grantTypes.some((type) => grantFacts(type).redirects);
    if (redirects && value.redirectUris.length === 0) {
      problem(['redirectUris'], 'authorization_code and implicit require at least one');
    }
    for (const member of ['redirectUris', 'postLogoutRedirectUris'] as const) {
      value[member].forEach((uri, i) => {
        const reason = redirectUriProblem(uri, value);
        if (reason !== undefined) {
          problem([member, i], reason);
        }
      });
    }
  });

/** A client in a bootstrap file and in commands. */
export const clientSchema = clientDefinition
  .safeExtend({ secureKey: secureKey.optional() })
  .superRefine((value, context) => {
    if (value.public && value.secureKey !== undefined) {
      const message = 'a public client must not have a secureKey';
      context.addIssue({ code: 'custom', path: ['public'], message });
    }
    if (!value.public && value.secureKey === undefined && !hasPublicKeys(value)) {
      const message = 'set secureKey or secureKeyFile, or public keys: jwks or jwksUri';
      context.addIssue({ code: 'custom', path: ['secureKey'], message });
    }
  });

/** The secure keys of a client. `sealed` is present exactly if the key is active. */
const clientKey = z.object({
  id: z.string(),
  sealed: z.string().optional(),
  /** Epoch seconds. Absent for keys of early versions. */
  createdAt: z.number().optional(),
  /**
   * - `replaced`: by a bootstrap file. Its tokens stay valid
   * - `retired`: removed by an operator. Its tokens stay valid until they expire
   * - `removed`: by an operator. A bootstrap file cannot add it again
   */
  state: z.enum(['active', 'replaced', 'retired', 'removed']),
});

export type ClientKey = Readonly<z.infer<typeof clientKey>>;

/** The members of a schema without its rules for new values, which a record may outlive. */
function storedType(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) {
    return storedType(schema.unwrap() as z.ZodType).optional();
  }
  if (schema instanceof z.ZodDefault) {
    return storedType(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodArray) {
    return z.array(storedType(schema.element as z.ZodType));
  }
  if (schema instanceof z.ZodObject) {
    const members = Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>);
    return z.looseObject(
      Object.fromEntries(members.map(([name, type]) => [name, storedType(type)])),
    );
  }
  return schema instanceof z.ZodString ? z.string() : schema;
}

const state = {
  enabled: z.boolean(),
  /** Epoch seconds. Credentials that were issued at this time or earlier are revoked. */
  notBefore: z.number(),
  /** Newest first. At most two are active. A public client has none. */
  keys: z.array(clientKey).readonly(),
  /** Its metadata document describes it. No operator registered it. */
  document: z
    .object({
      /** Epoch seconds. Undefined: an operator changed the record, so it stays. */
      expiresAt: z.number().optional(),
    })
    .optional(),
  /** Registered dynamically (RFC 7591), and managed by the holder of a token. */
  registration: registration.optional(),
};

/** New members must be optional. Otherwise, existing records are treated as damaged. */
export const storedClient: z.ZodType<Client> = z.object({
  ...Object.fromEntries(
    Object.entries(clientDefinition.shape).map(([name, type]) => [name, storedType(type)]),
  ),
  ...state,
}) as unknown as z.ZodType<Client>;

type Stored<Value> = Value extends readonly string[] ? readonly string[] : Value;
type Settings = Omit<z.output<typeof clientDefinition>, 'enabled'>;

/** The settings of a registered OAuth client. */
export type ClientSettings = { readonly [Name in keyof Settings]: Stored<Settings[Name]> };

/** A registered OAuth client. */
export type Client = ClientSettings & Readonly<z.output<z.ZodObject<typeof state>>>;
