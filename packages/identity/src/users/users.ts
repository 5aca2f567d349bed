import { StoreUnavailableError } from '@gatehouse/store';
import { lastUseOfUser } from '../records/last-use.ts';
import { parseRecord } from '../records/record.ts';
import { createRegistry, type RegistryDependencies } from '../records/registry.ts';
import { auditKeyOf } from '../secrets/credential-keys.ts';
import { generateId } from '../secrets/secure-keys.ts';
import { assertAttributes } from '../settings/attributes.ts';
import type { Settings, SettingsRegistry } from '../settings/settings.ts';
import { createNameIndex, isNamed, nameTaken, usernameKeyOf } from './name-index.ts';
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
  changedEmail,
  type PasswordRejection,
  profileNames,
  storedUser,
  type User,
} from './user.ts';

type NewUser = Omit<User, 'userId' | 'notBefore' | 'enabled'> & {
  /** By default, yes. */
  readonly enabled?: boolean | undefined;
};

const listing = {
  paging: {
    idOf: ({ userId }: User) => userId,
    namesOf: ({ userId, username, name, givenName, familyName, email }: User) => ({
      words: [username, name, givenName, familyName],
      texts: [userId, email],
    }),
  },
  placeOf: () => ({ index: 'users' }),
};

export type UserRegistry = ReturnType<typeof createUserRegistry>;

export function createUserRegistry(
  dependencies: RegistryDependencies & { readonly settings: SettingsRegistry },
) {
  const { store, settings, now } = dependencies;
  const users = createRegistry(
    {
      kind: 'user',
      format: (user: User) => JSON.stringify(user),
      ...listing,
      parse: (text) => parseRecord(storedUser, text),
      async settle(user, existing) {
        assertDeclaredAttributes(user, existing, await settings.read());
        await names.claimUsername(user, existing);
        await names.claimEmail(user);
        return user;
      },
      onWritten: (user, existing) => names.release(user, existing),
    },
    dependencies,
  );

  const names = createNameIndex(store, users);
  const { findByUsername } = names;

  /**
   * Changes an existing user under its lock. The not-before never decreases.
   *
   * @throws RejectedChangeError if the user does not exist, or gets an attribute that is not declared
   *   or the username of another user
   */
  const update = (userId: string, change: (user: User) => User): Promise<User> =>
    users.update(userId, (existing) => withUpdateTime(change(existing), existing, now()));

  return {
    find: users.find,
    findByUsername,
    findByEmail: names.findByEmail,
    /** By what a person enters: the username, or a verified address. */
    findByLogin: async (name: string): Promise<User | undefined> =>
      (await findByUsername(name)) ??
      (name.includes('@') ? names.findByEmail(name.trim()) : undefined),
    /** Without the copy. @throws Error if the record is damaged */
    ...{ read: users.read, readStored: users.readStored },
    verify: createUserVerification(findByUsername, users.read, update),
    /** Takes as long as `verify` without hashing, for a sign-in that the throttle rejects. */
    async reject(username: string): Promise<void> {
      await findByUsername(username);
      await pauseLikeVerifying();
    },
    /** Creates the user, or updates name, organization, state and a changed bootstrap password. */
    async ensure(wanted: BootstrapUser): Promise<User> {
      const userId = await store.claim(usernameKeyOf(wanted.username), generateId());
      for (;;) {
        const known = await users.readStored(userId);
        // A command that renames this user has taken the name, or died before it gave it up.
        if (known !== undefined && !isNamed(known, wanted.username)) {
          throw nameTaken();
        }
        const last = known?.bootstrapPasswordHash;
        // Hashed before the lock, which could expire first on a busy machine.
        const hash = await bootstrapHash(wanted.password, last);
        const user = await users.write(userId, (existing) =>
          existing === undefined || existing.bootstrapPasswordHash === last
            ? withUpdateTime(bootstrappedUser(userId, wanted, existing, hash), existing, now())
            : existing,
        );
        if (user.bootstrapPasswordHash === hash) {
          return user;
        }
        // Another process has applied another password in the meantime.
      }
    },
    /** @throws RejectedChangeError if the username, or a user with the address, exists */
    add: (wanted: NewUser, added = generateId()): Promise<User> =>
      names.whileEmailFree(wanted, async () => {
        const userId = await store.claim(usernameKeyOf(wanted.username), added);
        if (userId !== added) {
          throw nameTaken();
        }
        const user = { ...wanted, userId, enabled: wanted.enabled ?? true, notBefore: 0 };
        return users.write(userId, () => withUpdateTime(user, undefined, now()));
      }),
    list: users.list,
    page: users.page,
    update,
    /**
     * Deletes the user. Nothing then leads from the user id to a person.
     *
     * @param assertMay throws to keep the user
     */
    remove: (userId: string, assertMay?: (user: User) => void): Promise<User | undefined> =>
      users.remove(userId, async (user) => {
        assertMay?.(user);
        return [...(await names.keysOf(user)), auditKeyOf(userId), ...lastUseOfUser(userId)];
      }),
  };
}

/** @throws RejectedChangeError if an attribute changes that is not declared */
export function assertDeclaredAttributes(
  { attributes = {} }: Pick<User, 'attributes'>,
  existing: User | undefined,
  { userAttributes }: Settings,
): void {
  if (JSON.stringify(attributes) !== JSON.stringify(existing?.attributes ?? {})) {
    assertAttributes(attributes, userAttributes);
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
  const { password: _password, ...members } = wanted;
  const isKept = existing?.bootstrapPasswordHash === hash;
  return {
    ...existing,
    ...members,
    ...changedEmail(existing, wanted),
    userId,
    roles: wanted.roles ?? existing?.roles ?? [],
    enabled: wanted.enabled ?? existing?.enabled ?? true,
    notBefore: existing?.notBefore ?? 0,
    ...(!isKept && { passwordHash: hash, mustChangePassword: undefined }),
    bootstrapPasswordHash: hash,
  };
}

/** Sets the time of the claim `updated_at` if a change affects the claims of the user. */
function withUpdateTime(user: User, existing: User | undefined, now: number): User {
  const claimsOf = (each: User | undefined) =>
    JSON.stringify(profileNames.map((name) => each?.[name]));
  const isChanged = claimsOf(user) !== claimsOf(existing);
  return isChanged ? { ...user, updatedAt: Math.floor(now / 1000) } : user;
}

/**
 * Verifies the password of a user, and hashes it again if the cost has changed.
 *
 * @param read reads the record without the cache
 */
function createUserVerification(
  findByUsername: (username: string) => Promise<User | undefined>,
  read: (userId: string) => Promise<User | undefined>,
  update: (userId: string, change: (user: User) => User) => Promise<User>,
) {
  /**
   * Hashing takes time. If the password changed or the account was disabled in the meantime, the
   * sign-in fails. A concurrent sign-in may have replaced the hash of the same password.
   */
  async function stillSignsIn(verified: User, password: string): Promise<User | undefined> {
    const user = await read(verified.userId);
    if (user?.enabled !== true || user.notBefore !== verified.notBefore) {
      return undefined;
    }
    const { passwordHash = '' } = verified;
    const isUnchanged =
      user.passwordHash === passwordHash ||
      (isOutdatedHash(passwordHash) && (await verifyPassword(password, user.passwordHash ?? '')));
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
      verified !== undefined && isOutdatedHash(verified.passwordHash ?? '')
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
