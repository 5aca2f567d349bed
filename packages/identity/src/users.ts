import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { z } from 'zod';
import type { OnDamagedRecord } from './damaged-record.ts';
import { parseRecord, readForUpdate } from './parse-record.ts';
import { hashPassword, pauseLikeVerifying, verifyPassword } from './password-hash.ts';
import { createRecordCache } from './record-cache.ts';
import { withRecordLock } from './record-lock.ts';
import { RefusedChange } from './refused-change.ts';
import { generateId } from './secure-key.ts';
import { createUserVerification } from './verify-user.ts';

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
const storedUser: z.ZodType<User> = z.object({
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
   * @throws RefusedChange when there is no such user
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

const INDEX_KEY = 'users';
const keyOf = (userId: string) => `user:${userId}`;
const usernameKeyOf = (username: string) => `username:${canonicalUsername(username)}`;

/** One rule everywhere: Unicode NFKC, lower case. Two spellings that look alike this way are one user. */
export function canonicalUsername(username: string): string {
  return username.normalize('NFKC').toLowerCase();
}

export function createUserRegistry(dependencies: {
  readonly store: Store;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
  readonly now: () => number;
}): UserRegistry {
  const { store, now } = dependencies;
  const parseUser = (text: string) => parseRecord(storedUser, text);
  const cache = createRecordCache(store, parseUser, now, { ...dependencies, kind: 'user' });

  async function findByUsername(username: string): Promise<User | undefined> {
    const userId = await store.get(usernameKeyOf(username));
    return userId === undefined ? undefined : cache.read(keyOf(userId));
  }

  const update: UserRegistry['update'] = async (userId, change) => {
    const key = keyOf(userId);
    return withRecordLock(store, key, async (assertHeld) => {
      const existing = await readForUpdate(store, key, parseUser);
      if (existing === undefined) {
        throw new RefusedChange(`There is no user ${userId}.`);
      }
      const changed = change(existing);
      const notBefore = Math.max(changed.notBefore, existing.notBefore);
      const user: User = { ...changed, userId, notBefore };
      assertHeld();
      await store.set(key, JSON.stringify(user), undefined, { revokes: true });
      cache.forget(key);
      return user;
    });
  };

  const verifyUser = createUserVerification({
    ...{ findByUsername, update },
    async read(userId) {
      const text = await store.get(keyOf(userId));
      return text === undefined ? undefined : parseUser(text);
    },
  });

  return {
    find: (userId) => cache.read(keyOf(userId)),
    findByUsername,
    verify: verifyUser,
    async refuse(username) {
      await findByUsername(username);
      await pauseLikeVerifying();
    },
    async ensure(wanted) {
      const userId = await store.claim(usernameKeyOf(wanted.username), generateId());
      const key = keyOf(userId);
      return withRecordLock(store, key, async (assertHeld) => {
        const existing = await readForUpdate(store, key, parseUser);
        const user: User = {
          userId,
          username: wanted.username,
          name: wanted.name,
          orgId: wanted.orgId,
          enabled: wanted.enabled ?? existing?.enabled ?? true,
          notBefore: existing?.notBefore ?? 0,
          ...(await bootstrapPassword(existing, wanted.password)),
        };
        assertHeld();
        await store.set(key, JSON.stringify(user));
        cache.forget(key);
        await store.addToIndex(INDEX_KEY, userId, NEVER_EXPIRES);
        return user;
      });
    },
    async list() {
      const ids = await store.members(INDEX_KEY);
      const found = await Promise.all(ids.map((id) => cache.read(keyOf(id))));
      return found.filter((user) => user !== undefined);
    },
    update,
  };
}

/** A password the person changed since survives a restart with an unchanged bootstrap file. */
async function bootstrapPassword(
  existing: User | undefined,
  password: string,
): Promise<Pick<User, 'passwordHash' | 'bootstrapPasswordHash'>> {
  const last = existing?.bootstrapPasswordHash;
  if (existing !== undefined && last !== undefined && (await verifyPassword(password, last))) {
    return { passwordHash: existing.passwordHash, bootstrapPasswordHash: last };
  }
  const hash = await hashPassword(password);
  return { passwordHash: hash, bootstrapPasswordHash: hash };
}
