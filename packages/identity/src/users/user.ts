import type { SignInReasonName } from '@gatehouse/errors';
import { z } from 'zod';

/** An account that a person signs in with. */
export interface User {
  /** The `sub` of tokens: random, and independent of the username. */
  readonly userId: string;
  readonly username: string;
  readonly name: string;
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
  readonly orgId: string;
  readonly email?: string | undefined;
  /** Whether an operator confirmed that the address belongs to the user. */
  readonly emailVerified: boolean;
  /** Free text. Applications decide what a role allows; Gatehouse gives it no rights. */
  readonly roles: readonly string[];
  readonly enabled: boolean;
  /** Epoch seconds. Credentials that were issued at this time or earlier are revoked. */
  readonly notBefore: number;
  /** Epoch seconds. When the claims last changed. Records of earlier releases have none. */
  readonly updatedAt?: number | undefined;
  readonly passwordHash: string;
  /**
   * The last password of the bootstrap file. It replaces the user's password only if it changes.
   */
  readonly bootstrapPasswordHash?: string | undefined;
}

/** New members need a default. Otherwise, existing records are treated as damaged. */
export const storedUser: z.ZodType<User> = z.object({
  userId: z.string(),
  username: z.string(),
  name: z.string(),
  givenName: z.string().optional(),
  familyName: z.string().optional(),
  orgId: z.string(),
  email: z.string().optional(),
  emailVerified: z.boolean().default(false),
  roles: z.array(z.string()).default([]),
  enabled: z.boolean(),
  notBefore: z.number(),
  updatedAt: z.number().optional(),
  passwordHash: z.string(),
  bootstrapPasswordHash: z.string().optional(),
});

/** Why a password did not identify a user. The names are failure reasons. */
export type PasswordRejection = Extract<
  SignInReasonName,
  'user_unknown' | 'password_wrong' | 'account_disabled'
>;

export interface UserRegistry {
  /** Returns a copy that is at most 50 ms old. */
  find(userId: string): Promise<User | undefined>;
  findByUsername(username: string): Promise<User | undefined>;
  /**
   * Undefined for unknown users, disabled users and wrong passwords, which all take the same time.
   *
   * @param onRejected called with the reason, which is for the log and the audit trail only
   */
  verify(
    username: string,
    password: string,
    onRejected?: (reason: PasswordRejection) => void,
  ): Promise<User | undefined>;
  /** Takes as long as `verify` without hashing, for a sign-in that the throttle rejects. */
  reject(username: string): Promise<void>;
  /**
   * Creates the user, or updates name, organization, state and a changed bootstrap password.
   *
   * @param onReplace gets the record that the change replaces, under its lock
   */
  ensure(user: BootstrapUser, onReplace?: (existing: User) => void): Promise<User>;
  list(): Promise<readonly User[]>;
  /**
   * Changes an existing user under its lock. The not-before never decreases.
   *
   * @throws RejectedChangeError if the user does not exist
   */
  update(userId: string, change: (user: User) => User): Promise<User>;
}

export interface BootstrapUser {
  readonly username: string;
  readonly password: string;
  readonly name: string;
  readonly orgId: string;
  /** If a member below is undefined, an existing user keeps its value. */
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
  readonly email?: string | undefined;
  /** If undefined, a new address is unverified. */
  readonly emailVerified?: boolean | undefined;
  readonly roles?: readonly string[] | undefined;
  /** If undefined, a new user is enabled. */
  readonly enabled?: boolean | undefined;
}

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

/**
 * Usernames with the same canonical form (Unicode NFKC, lower case, without white space at the
 * ends) belong to the same user.
 */
export function canonicalUsername(username: string): string {
  return username.trim().normalize('NFKC').toLowerCase();
}
