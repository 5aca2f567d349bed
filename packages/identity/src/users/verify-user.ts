import { StoreUnavailableError } from '@gatehouse/store';
import {
  decoyPasswordHash,
  hashPassword,
  isOutdatedHash,
  MAXIMUM_PASSWORD_BYTES,
  verifyPassword,
} from './password-hash.ts';
import { PasswordHashingBusyError } from './password-hashing-queue.ts';
import type { PasswordRejection, User, UserRegistry } from './user.ts';

/** Verifies the password of a user, and hashes it again if the cost has changed. */
export function createUserVerification(
  registry: Pick<UserRegistry, 'findByUsername' | 'update'> & {
    /** Reads the record without the cache. */
    readonly read: (userId: string) => Promise<User | undefined>;
  },
): UserRegistry['verify'] {
  const { findByUsername, update, read } = registry;

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

  return async (username, password, onRejected) => {
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
  if (user === undefined) {
    return 'user_unknown';
  }
  if (!matches) {
    return 'password_wrong';
  }
  return 'account_disabled';
}
