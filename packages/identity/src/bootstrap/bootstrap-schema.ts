import { isAddressOrRange } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { knownScopes, signatureAlgorithms } from '../clients/client.ts';
import { isAllowedRedirectUri, redirectUriProblem } from '../clients/redirect-uris.ts';
import { secureKeyProblem, secureKeyRules } from '../secrets/secure-keys.ts';
import { passwordProblem, passwordRules } from '../users/password-policy.ts';
import { canonicalUsername } from '../users/user.ts';

export const grantTypes = [
  'authorization_code',
  'client_credentials',
  'refresh_token',
  'password',
  'implicit',
  'urn:ietf:params:oauth:grant-type:device_code',
] as const;

const text = (maximum: number) =>
  z
    .string()
    .max(maximum, `must not be longer than ${maximum} characters`)
    .refine((value) => value.trim() !== '', 'must not be blank')
    .refine((value) => !/\p{Cc}/u.test(value), 'must not contain control characters');

const identifier = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable ASCII characters without spaces');

const secureKey = z.string().superRefine((value, context) => {
  const problem = secureKeyProblem(value);
  if (problem !== undefined) {
    context.addIssue({ code: 'custom', message: secureKeyRules[problem] });
  }
});

const origin = z.string().refine((value) => {
  const url = URL.parse(value);
  return url?.origin === value && /^https?:$/.test(url.protocol);
}, 'must be an http(s) origin: scheme, host, port');

const addressOrRange = z.string().refine(isAddressOrRange, 'must be an address or CIDR range');

const redirectingGrantTypes: ReadonlySet<string> = new Set(['authorization_code', 'implicit']);

export const organizationSchema = z.strictObject({ id: identifier, name: text(200) });

const redirectUri = z
  .string()
  .refine(
    (value) => isAllowedRedirectUri(value, 'native'),
    'must be https, loopback http, or the scheme of a native app, in normal form, without fragment, and without reply parameters such as code or state',
  );

export const clientSchema = z
  .strictObject({
    clientId: identifier.refine(
      (id) => !id.startsWith('gatehouse:'),
      'must not start with gatehouse:, which is reserved',
    ),
    secureKey: secureKey.optional(),
    name: text(200),
    orgId: identifier,
    signatureAlgorithm: z.enum(signatureAlgorithms).default('SHA-256'),
    grantTypes: z.array(z.enum(grantTypes)).default(['client_credentials']),
    redirectUris: z.array(redirectUri).default([]),
    scopes: z.array(z.enum(knownScopes)).default([]),
    applicationType: z.enum(['web', 'native']).default('web'),
    public: z.boolean().default(false),
    firstParty: z.boolean().default(false),
    resourceServer: z.boolean().default(false),
    ownOrganizationOnly: z.boolean().default(false),
    enabled: z.boolean().optional(),
    corsOrigins: z.array(origin).default([]),
    postLogoutRedirectUris: z.array(redirectUri).default([]),
    ipAllowList: z.array(addressOrRange).default([]),
  })
  .superRefine((value, context) => {
    const problem = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message });
    if (value.public && value.secureKey !== undefined) {
      problem(['public'], 'a public client must not have a secureKey');
    }
    if (!value.public && value.secureKey === undefined) {
      problem(['secureKey'], 'set secureKey or secureKeyFile');
    }
    // RFC 6749 §4.4: only confidential clients may use this grant.
    if (value.public && value.grantTypes.includes('client_credentials')) {
      problem(['grantTypes'], 'a public client cannot use client_credentials');
    }
    const redirects = value.grantTypes.some((type) => redirectingGrantTypes.has(type));
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

const bootstrapClientSchema = clientSchema.safeExtend({
  /** Tokens of a key that the file replaces stay valid until they expire. */
  keepTokens: z.boolean().default(false),
});

/** Every token of the user can contain the roles, so their number is limited. */
const MAXIMUM_ROLES = 50;

const role = text(100).refine(
  (value) => value.trim() === value,
  'must not start or end with white space',
);

const profileMembers = {
  givenName: text(200).optional(),
  familyName: text(200).optional(),
  email: z.email('must be an email address').max(254).optional(),
  emailVerified: z.boolean().optional(),
  roles: z
    .array(role)
    .max(MAXIMUM_ROLES, `must not have more than ${MAXIMUM_ROLES} entries`)
    .refine((roles) => new Set(roles).size === roles.length, 'must not contain duplicates')
    .optional(),
};

/** The members of a user that the command `users change` sets. */
export const userProfileSchema = z.strictObject({ name: text(200).optional(), ...profileMembers });

const userMembers = z.strictObject({
  username: text(128)
    .refine((value) => value.trim() === value, 'must not start or end with white space')
    .refine((value) => !/\p{Cf}/u.test(value), 'must not contain invisible characters'),
  password: z.string('set password or passwordFile'),
  name: text(200),
  orgId: identifier,
  ...profileMembers,
  enabled: z.boolean().optional(),
});

export const userSchema = userMembers.superRefine((user, context) => {
  const { password, username, email, emailVerified } = user;
  const problem = passwordProblem(password, { username });
  if (problem !== undefined) {
    context.addIssue({ code: 'custom', path: ['password'], message: passwordRules[problem] });
  }
  if (emailVerified === true && email === undefined) {
    context.addIssue({ code: 'custom', path: ['emailVerified'], message: 'requires an email' });
  }
});

/** `BOOTSTRAP_FILE`. Rejects unknown members, which can be misspellings of optional ones. */
export const bootstrapSchema = z.strictObject({
  organizations: distinct(organizationSchema, 'id', (entry) => entry.id).default([]),
  clients: distinct(bootstrapClientSchema, 'clientId', (entry) => entry.clientId).default([]),
  users: distinct(userSchema, 'username', (entry) => canonicalUsername(entry.username)).default([]),
});

/** If two entries had the same name, the second would undo the first at every start. */
function distinct<Entry extends z.ZodType>(
  entry: Entry,
  member: string,
  nameOf: (value: z.infer<Entry>) => string,
) {
  return z.array(entry).superRefine((values, context) => {
    const names = values.map(nameOf);
    names.forEach((name, i) => {
      if (names.indexOf(name) < i) {
        context.addIssue({ code: 'custom', path: [i, member], message: 'is a duplicate' });
      }
    });
  });
}

export type BootstrapDefinition = z.infer<typeof bootstrapSchema>;
