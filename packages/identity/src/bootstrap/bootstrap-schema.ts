import { isIP } from 'node:net';
import { z } from 'zod';
import { MAXIMUM_PASSWORD_BYTES } from '../password-hash.ts';
import { knownScopes } from '../scopes.ts';
import { isAllowedRedirectUri } from './redirect-uri-rule.ts';

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

const secureKey = z
  .string()
  .regex(/^[\x20-\x7e]{16,256}$/, 'must be 16 to 256 printable ASCII characters');

const origin = z
  .string()
  .refine((value) => URL.parse(value)?.origin === value, 'must be an origin: scheme, host, port');

const addressOrRange = z
  .string()
  .refine((value) => isIP(value.split('/', 1)[0] ?? '') !== 0, 'must be an address or CIDR range');

const organization = z.strictObject({ id: identifier, name: text(200) });

const client = z
  .strictObject({
    clientId: identifier,
    secureKey: secureKey.optional(),
    secureKeyFile: z.string().optional(),
    name: text(200),
    orgId: identifier,
    signatureAlgorithm: z.enum(['MD5', 'SHA-256']).default('SHA-256'),
    grantTypes: z.array(z.enum(grantTypes)).default(['client_credentials']),
    redirectUris: z.array(z.string()).default([]),
    scopes: z.array(z.enum(knownScopes)).default([]),
    applicationType: z.enum(['web', 'native']).default('web'),
    public: z.boolean().default(false),
    firstParty: z.boolean().default(false),
    resourceServer: z.boolean().default(false),
    ownOrganizationOnly: z.boolean().default(false),
    enabled: z.boolean().default(true),
    corsOrigins: z.array(origin).default([]),
    postLogoutRedirectUris: z.array(z.string()).default([]),
    ipAllowList: z.array(addressOrRange).default([]),
  })
  .superRefine((value, context) => {
    const problem = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message });
    const secrets = [value.secureKey, value.secureKeyFile].filter((key) => key !== undefined);
    if (value.public && secrets.length > 0) {
      problem(['public'], 'a public client has no secureKey');
    }
    if (!value.public && secrets.length !== 1) {
      problem(['secureKey'], 'give exactly one of secureKey and secureKeyFile');
    }
    if (value.grantTypes.includes('authorization_code') && value.redirectUris.length === 0) {
      problem(['redirectUris'], 'authorization_code needs at least one');
    }
    for (const member of ['redirectUris', 'postLogoutRedirectUris'] as const) {
      value[member].forEach((uri, i) => {
        if (!isAllowedRedirectUri(uri, value.applicationType)) {
          problem(
            [member, i],
            'must be https, loopback http, or a native app scheme; exact, without fragment',
          );
        }
      });
    }
  });

const user = z
  .strictObject({
    username: text(128).refine((value) => value.trim() === value, 'must not start or end blank'),
    password: z.string().optional(),
    passwordFile: z.string().optional(),
    name: text(200),
    orgId: identifier,
    enabled: z.boolean().default(true),
  })
  .superRefine((value, context) => {
    const given = [value.password, value.passwordFile].filter((secret) => secret !== undefined);
    if (given.length !== 1) {
      context.addIssue({
        code: 'custom',
        path: ['password'],
        message: 'give exactly one of password and passwordFile',
      });
    }
    if (value.password !== undefined && !isAcceptablePassword(value.password)) {
      context.addIssue({ code: 'custom', path: ['password'], message: passwordRule });
    }
  });

/** OWASP ASVS 6.2.1: at least eight characters. */
export const passwordRule = `must have 8 or more characters and at most ${MAXIMUM_PASSWORD_BYTES} bytes`;

export function isAcceptablePassword(password: string): boolean {
  return [...password].length >= 8 && Buffer.byteLength(password) <= MAXIMUM_PASSWORD_BYTES;
}

/** `BOOTSTRAP_FILE`: unknown members are refused, so that a typo does not pass as a default. */
export const bootstrapSchema = z.strictObject({
  organizations: z.array(organization).default([]),
  clients: z.array(client).default([]),
  users: z.array(user).default([]),
});

export type BootstrapDefinition = z.infer<typeof bootstrapSchema>;
