import { z } from 'zod';

/** An account that a person signs in with. */
export interface User {
  /** The `sub` of tokens: random, and independent of the username. */
  readonly userId: string;
  readonly username: string;
  readonly name: string;
  readonly orgId: string;
  readonly enabled: boolean;
  /** Epoch seconds. Credentials that were issued at this time or earlier are revoked. */
  readonly notBefore: number;
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
  orgId: z.string(),
  enabled: z.boolean(),
  notBefore: z.number(),
  passwordHash: z.string(),
  bootstrapPasswordHash: z.string().optional(),
});

export interface UserRegistry {
  /** Returns a copy that is at most 50 ms old. */
  find(userId: string): Promise<User | undefined>;
  findByUsername(username: string): Promise<User | undefined>;
  /**
   * Undefined for unknown users, disabled users and wrong passwords, which all take the same time.
   */
  verify(username: string, password: string): Promise<User | undefined>;
  /** Takes as long as `verify` without hashing, for a sign-in that the throttle rejects. */
  refuse(username: string): Promise<void>;
  /** Creates the user, or updates name, organization, state and a changed bootstrap password. */
  ensure(user: BootstrapUser): Promise<User>;
  list(): Promise<readonly User[]>;
  /**
   * Changes an existing user under its lock. The not-before never decreases.
   *
   * @throws RefusedChangeError if the user does not exist
   */
  update(userId: string, change: (user: User) => User): Promise<User>;
}

export interface BootstrapUser {
  readonly username: string;
  readonly password: string;
  readonly name: string;
  readonly orgId: string;
  /** If undefined, a new user is enabled and an existing user does not change. */
  readonly enabled?: boolean | undefined;
}

/** Usernames with the same canonical form (Unicode NFKC, lower case) belong to the same user. */
export function canonicalUsername(username: string): string {
  return username.normalize('NFKC').toLowerCase();
}
