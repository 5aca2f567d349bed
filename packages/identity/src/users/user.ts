import type { SignInReasonName } from '@gatehouse/errors';
import { z } from 'zod';
import { identifier, role, text } from '../records/record.ts';
import { attributesSchema } from '../settings/attributes.ts';
import { passwordProblem, passwordRules } from './password-policy.ts';

/** Every token of the user can contain the roles, so their number is limited. */
const MAXIMUM_ROLES = 50;

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
  /** Claims of this installation, as `userAttributes` declares them. */
  attributes: attributesSchema.optional(),
};

const username = text(128)
  .refine((value) => value.trim() === value, 'must not start or end with white space')
  .refine((value) => !/\p{Cf}/u.test(value), 'must not contain invisible characters');

const userMembers = z.strictObject({
  username,
  password: z.string('set password or passwordFile'),
  name: text(200),
  orgId: identifier,
  ...profileMembers,
  enabled: z.boolean().optional(),
});

/** The members of a user that the command `users change` sets. */
export const userProfileSchema = userMembers.omit({ password: true, enabled: true }).partial();

export const profileNames = Object.keys(
  userProfileSchema.shape,
) as readonly (keyof typeof userProfileSchema.shape)[];

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

/**
 * What a person chooses for a new account. A username without `@` cannot be the address of another
 * person.
 */
export const newAccountSchema = z.object({
  username: userMembers.shape.username.refine((value) => !canonicalUsername(value).includes('@')),
  name: userMembers.shape.name,
});

/** New members need a default. Otherwise, existing records are treated as damaged. */
export const storedUser = z.object({
  /** The `sub` of tokens: random, and independent of the username. */
  userId: z.string(),
  username: z.string(),
  name: z.string(),
  givenName: z.string().optional(),
  familyName: z.string().optional(),
  orgId: z.string(),
  email: z.string().optional(),
  /** Whether an operator confirmed that the address belongs to the user. */
  emailVerified: z.boolean().default(false),
  /** Free text. Applications decide what a role allows; Gatehouse gives it no rights. */
  roles: z.array(z.string()).readonly().default([]),
  attributes: attributesSchema.optional(),
  enabled: z.boolean(),
  /** Epoch seconds. Credentials that were issued at this time or earlier are revoked. */
  notBefore: z.number(),
  /** Epoch seconds. When the claims last changed. Records of earlier releases have none. */
  updatedAt: z.number().optional(),
  /** Undefined if the user has no password. */
  passwordHash: z.string().optional(),
  /** The next sign-in with the password asks for a new one. */
  mustChangePassword: z.boolean().optional(),
  /** The language of mails: a BCP 47 tag of a language that the pages have. */
  locale: z.string().optional(),
  /**
   * The last password of the bootstrap file. It replaces the user's password only if it changes.
   */
  bootstrapPasswordHash: z.string().optional(),
});

/** An account that a person signs in with. */
export type User = Readonly<z.infer<typeof storedUser>>;

/** Why a password did not identify a user. The names are failure reasons. */
export type PasswordRejection = Extract<
  SignInReasonName,
  'user_unknown' | 'password_wrong' | 'account_disabled'
>;

/** If an optional member is undefined, an existing user keeps its value. */
export type BootstrapUser = Readonly<z.output<typeof userSchema>>;

/**
 * The address of a user after a change. A new address is unverified unless the change confirms it.
 */
export function changedEmail(
  existing: Pick<User, 'email' | 'emailVerified'> | undefined,
  wanted: Pick<BootstrapUser, 'email' | 'emailVerified'>,
): Pick<User, 'email' | 'emailVerified'> {
  const email = wanted.email ?? existing?.email;
  const isKept = email !== undefined && email === existing?.email;
  return {
    email,
    emailVerified: wanted.emailVerified ?? (isKept && existing?.emailVerified === true),
  };
}

/** Addresses that differ only in case belong to the same user. */
export function canonicalEmail(email: string): string {
  return email.normalize('NFKC').toLowerCase();
}

/**
 * Usernames with the same canonical form (Unicode NFKC, lower case, without white space at the
 * ends) belong to the same user.
 */
export function canonicalUsername(username: string): string {
  return username.trim().normalize('NFKC').toLowerCase();
}
