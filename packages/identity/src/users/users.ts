import { NEVER_EXPIRES, type Store, StoreUnavailableError } from '@gatehouse/store';
import {
  type OnDamagedRecord,
  parseRecord,
  RejectedChangeError,
  readForUpdate,
} from '../records/record.ts';
import { createRecordCache } from '../records/record-cache.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { generateId } from '../secrets/secure-keys.ts';
import { assertAttributes } from '../settings/attributes.ts';
import type { SettingsRegistry } from '../settings/settings.ts';
import {
  decoyPasswordHash,
  hashPassword,
  isOutdatedHash,
  MAXIMUM_PASSWORD_BYTES,
  pauseLikeVerifying,
  verifyPassword,
} from './password-hash.ts';
import { PasswordHashingBusyError } from './password-hashing-queue.ts';
import {
  type BootstrapUser,
  canonicalUsername,
  changedEmail,
  type PasswordRejection,
  storedUser,
  type User,
} from './user.ts';

const INDEX_KEY = 'users';
const keyOf = (userId: string) => `user:${userId}`;
const usernameKeyOf = (username: string) => `username:${canonicalUsername(username)}`;

export type UserRegistry = ReturnType<typeof createUserRegistry>;

export function createUserRegistry(dependencies: {
  readonly store: Store;
  readonly settings: Pick<SettingsRegistry, 'read'>;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
  readonly now: () => number;
}) {
  const { store, settings, now } = dependencies;
  const parseUser = (text: string) => parseRecord(storedUser, text);
  const cache = createRecordCache(store, parseUser, now, { ...dependencies, kind: 'user' });

  async function findByUsername(username: string): Promise<User | undefined> {
    const userId = await store.get(usernameKeyOf(username));
    return userId === undefined ? undefined : cache.read(keyOf(userId));
  }

  /**
   * Changes an existing user under its lock. The not-before never decreases.
   *
   * @throws RejectedChangeError if the user does not exist, or gets an attribute that is not declared
   */
  async function update(userId: string, change: (user: User) => User): Promise<User> {
    const key = keyOf(userId);
    return withRecordLock(store, key, async (assertHeld) => {
      const existing = await readForUpdate(store, key, parseUser);
      if (existing === undefined) {
        throw new RejectedChangeError(`The user ${userId} does not exist.`);
      }
      const changed = change(existing);
      const notBefore = Math.max(changed.notBefore, existing.notBefore);
      const user = withUpdateTime({ ...changed, userId, notBefore }, existing, now());
      await assertDeclared(user, existing, settings);
      assertHeld();
      await store.set(key, JSON.stringify(user), undefined, { revokes: true });
      cache.forget(key);
      return user;
    });
  }

  const verifyUser = createUserVerification({
    findByUsername,
    update,
    async read(userId) {
      const text = await store.get(keyOf(userId));
      return text === undefined ? undefined : parseUser(text);
    },
  });

  return {
    /** Returns a copy that is at most 50 ms old. */
    find: (userId: string): Promise<User | undefined> => cache.read(keyOf(userId)),
    findByUsername,
    verify: verifyUser,
    /** Takes as long as `verify` without hashing, for a sign-in that the throttle rejects. */
    async reject(username: string): Promise<void> {
      await findByUsername(username);
      await pauseLikeVerifying();
    },
    /** Creates the user, or updates name, organization, state and a changed bootstrap password. */
    async ensure(wanted: BootstrapUser): Promise<User> {
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
          const changed = bootstrappedUser(userId, wanted, existing, hash);
          const replacement = withUpdateTime(changed, existing, now());
          await assertDeclared(replacement, existing, settings);
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
    async list(): Promise<readonly User[]> {
      const ids = await store.members(INDEX_KEY);
      const found = await Promise.all(ids.map((id) => cache.read(keyOf(id))));
      return found.filter((user) => user !== undefined);
    },
    update,
  };
}

/** @throws RejectedChangeError if an attribute changes that is not declared */
async function assertDeclared(
  { attributes = {} }: User,
  existing: User | undefined,
  settings: Pick<SettingsRegistry, 'read'>,
): Promise<void> {
  if (JSON.stringify(attributes) !== JSON.stringify(existing?.attributes ?? {})) {
    assertAttributes(attributes, (await settings.read()).userAttributes);
  }
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
    attributes: wanted.attributes ?? existing?.attributes,
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
      [each?.email, each?.emailVerified, each?.roles, each?.attributes],
    ]);
  const isChanged = claimsOf(user) !== claimsOf(existing);
  return isChanged ? { ...user, updatedAt: Math.floor(now / 1000) } : user;
}

/** Verifies the password of a user, and hashes it again if the cost has changed. */
function createUserVerification({
  findByUsername,
  update,
  read,
}: {
  readonly findByUsername: (username: string) => Promise<User | undefined>;
  readonly update: (userId: string, change: (user: User) => User) => Promise<User>;
  /** Reads the record without the cache. */
  readonly read: (userId: string) => Promise<User | undefined>;
}) {
  /**
   * Hashing takes time. If the password changed or the account was disabled in the meantime, the
   * sign-in fails. A concurrent sign-in may have replaced the hash of the same password.
   */
  async function stillSignsIn(verified: User, password: string): Promise<User | undefined> {
    const user = await read(verified.userId);
    if (user?.enabled !== true || user.notBefore !== verified.notBefore) {
      return undefined;
    }
    const isUnchanged =
      user.passwordHash === verified.passwordHash ||
      (isOutdatedHash(verified.passwordHash) &&
        (await verifyPassword(password, user.passwordHash)));
    return isUnchanged ? user : undefined;
  }

  /** Hashes a password with the current cost. Keeps concurrent changes of the record. */
  async function renewHash(user: User, password: string): Promise<User | undefined> {
    let kept = user.passwordHash;
    try {
      const passwordHash = await hashPassword(password);
      const renewed = await update(user.userId, (current) =>
        current.passwordHash === user.passwordHash ? { ...current, passwordHash } : current,
      );
      kept = renewed.passwordHash === passwordHash ? passwordHash : kept;
    } catch (error) {
      // The sign-in is valid without the new hash. The next sign-in tries again.
      if (!(error instanceof StoreUnavailableError || error instanceof PasswordHashingBusyError)) {
        throw error;
      }
    }
    return stillSignsIn({ ...user, passwordHash: kept }, password);
  }

  /**
   * Undefined for unknown users, disabled users and wrong passwords, which all take the same time.
   *
   * @param onRejected called with the reason, which is for the log and the audit trail only
   */
  return async (
    username: string,
    password: string,
    onRejected?: (reason: PasswordRejection) => void,
  ): Promise<User | undefined> => {
    if (Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES) {
      onRejected?.('password_wrong');
      return undefined;
    }
    const user = await findByUsername(username);
    const matches = await verifyPassword(password, user?.passwordHash ?? decoyPasswordHash);
    const verified = matches && user !== undefined ? await stillSignsIn(user, password) : undefined;
    const signedIn =
      verified !== undefined && isOutdatedHash(verified.passwordHash)
        ? await renewHash(verified, password)
        : verified;
    if (signedIn === undefined) {
      onRejected?.(rejectionOf(user, matches));
    }
    return signedIn;
  };
}

function rejectionOf(user: User | undefined, matches: boolean): PasswordRejection {
  const reason = matches ? 'account_disabled' : 'password_wrong';
  return user === undefined ? 'user_unknown' : reason;
}
