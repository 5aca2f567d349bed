import { z } from 'zod';

/** A person who signs in. */
export interface User {
  /** Random, never the username: it is the `sub` of tokens. */
  readonly userId: string;
  readonly username: string;
  readonly name: string;
  readonly orgId: string;
  readonly enabled: boolean;
  /** Epoch seconds: what was issued then or earlier is dead. */
  readonly notBefore: number;
  readonly passwordHash: string;
  /** The password the bootstrap file last set: only another one in the file replaces the user's own. */
  readonly bootstrapPasswordHash?: string | undefined;
}

/** A member that a later version adds needs a default here, or older records no longer count. */
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
  /** A copy at most 50 ms old. */
  find(userId: string): Promise<User | undefined>;
  findByUsername(username: string): Promise<User | undefined>;
  /** The user, if enabled and the password is right. Unknown, disabled and wrong cost the same hash. */
  verify(username: string, password: string): Promise<User | undefined>;
  /** Takes as long as `verify` and hashes nothing: for an attempt that is refused whatever the password. */
  refuse(username: string): Promise<void>;
  /** Creates the user, or brings name, organisation, state and a changed bootstrap password up to date. */
  ensure(user: BootstrapUser): Promise<User>;
  list(): Promise<readonly User[]>;
  /**
   * Changes an existing user under its lock. The not-before only ever moves forward.
   *
   * @throws RefusedChangeError when there is no such user
   */
  update(userId: string, change: (user: User) => User): Promise<User>;
}

export interface BootstrapUser {
  readonly username: string;
  readonly password: string;
  readonly name: string;
  readonly orgId: string;
  /** Undefined leaves it as it is; a user that is new is enabled. */
  readonly enabled?: boolean | undefined;
}

/** One rule everywhere: Unicode NFKC, lower case. Two spellings that look alike this way are one user. */
export function canonicalUsername(username: string): string {
  return username.normalize('NFKC').toLowerCase();
}
