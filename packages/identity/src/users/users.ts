import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import type { OnDamagedRecord } from '../records/damaged-record.ts';
import { parseRecord, readForUpdate } from '../records/parse-record.ts';
import { createRecordCache } from '../records/record-cache.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { RejectedChangeError } from '../records/rejected-change-error.ts';
import { generateId } from '../secrets/secure-key.ts';
import { hashPassword, pauseLikeVerifying, verifyPassword } from './password-hash.ts';
import {
  type BootstrapUser,
  canonicalUsername,
  changedEmail,
  storedUser,
  type User,
  type UserRegistry,
} from './user.ts';
import { createUserVerification } from './verify-user.ts';

const INDEX_KEY = 'users';
const keyOf = (userId: string) => `user:${userId}`;
const usernameKeyOf = (username: string) => `username:${canonicalUsername(username)}`;

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
        throw new RejectedChangeError(`The user ${userId} does not exist.`);
      }
      const changed = change(existing);
      const notBefore = Math.max(changed.notBefore, existing.notBefore);
      const user = withUpdateTime({ ...changed, userId, notBefore }, existing, now());
      assertHeld();
      await store.set(key, JSON.stringify(user), undefined, { revokes: true });
      cache.forget(key);
      return user;
    });
  };

  const verifyUser = createUserVerification({
    findByUsername,
    update,
    async read(userId) {
      const text = await store.get(keyOf(userId));
      return text === undefined ? undefined : parseUser(text);
    },
  });

  return {
    find: (userId) => cache.read(keyOf(userId)),
    findByUsername,
    verify: verifyUser,
    async reject(username) {
      await findByUsername(username);
      await pauseLikeVerifying();
    },
    async ensure(wanted, onReplace) {
      const userId = await store.claim(usernameKeyOf(wanted.username), generateId());
      const key = keyOf(userId);
      for (;;) {
        const last = (await readForUpdate(store, key, parseUser))?.bootstrapPasswordHash;
        // Hashed before the lock, which could expire first on a busy machine.
        const hash = await bootstrapHash(wanted.password, last);
        const user = await withRecordLock(store, key, async (assertHeld) => {
          const existing = await readForUpdate(store, key, parseUser);
          if (existing?.bootstrapPasswordHash !== last) {
            return undefined;
          }
          if (existing !== undefined) {
            onReplace?.(existing);
          }
          const changed = bootstrappedUser(userId, wanted, existing, hash);
          const replacement = withUpdateTime(changed, existing, now());
          assertHeld();
          await store.set(key, JSON.stringify(replacement));
          cache.forget(key);
          await store.addToIndex(INDEX_KEY, userId, NEVER_EXPIRES);
          return replacement;
        });
        if (user !== undefined) {
          return user;
        }
        // Another process has applied another password in the meantime.
      }
    },
    async list() {
      const ids = await store.members(INDEX_KEY);
      const found = await Promise.all(ids.map((id) => cache.read(keyOf(id))));
      return found.filter((user) => user !== undefined);
    },
    update,
  };
}

/** Returns the last hash if the bootstrap file contains the same password again. */
async function bootstrapHash(password: string, last: string | undefined): Promise<string> {
  const isSame = last !== undefined && (await verifyPassword(password, last));
  return isSame ? last : hashPassword(password);
}

/** Keeps a password that the user changed, unless the bootstrap file contains a new one. */
function bootstrappedUser(
  userId: string,
  wanted: BootstrapUser,
  existing: User | undefined,
  hash: string,
): User {
  const isKept = existing?.bootstrapPasswordHash === hash;
  return {
    userId,
    username: wanted.username,
    name: wanted.name,
    givenName: wanted.givenName ?? existing?.givenName,
    familyName: wanted.familyName ?? existing?.familyName,
    orgId: wanted.orgId,
    ...changedEmail(existing, wanted),
    roles: wanted.roles ?? existing?.roles ?? [],
    enabled: wanted.enabled ?? existing?.enabled ?? true,
    notBefore: existing?.notBefore ?? 0,
    updatedAt: existing?.updatedAt,
    passwordHash: isKept ? existing.passwordHash : hash,
    bootstrapPasswordHash: hash,
  };
}

/** Sets the time of the claim `updated_at` if a change affects the claims of the user. */
function withUpdateTime(user: User, existing: User | undefined, now: number): User {
  const claimsOf = (each: User | undefined) =>
    JSON.stringify([
      [each?.username, each?.name, each?.givenName, each?.familyName, each?.orgId],
      [each?.email, each?.emailVerified, each?.roles],
    ]);
  const isChanged = claimsOf(user) !== claimsOf(existing);
  return isChanged ? { ...user, updatedAt: Math.floor(now / 1000) } : user;
}
