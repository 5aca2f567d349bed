import { StoreUnavailableError } from '@gatehouse/store';
import {
  decoyPasswordHash,
  hashPassword,
  isOutdatedHash,
  MAXIMUM_PASSWORD_BYTES,
  verifyPassword,
} from './password-hash.ts';
import { PasswordHashingBusyError } from './password-hashing-queue.ts';
import type { User, UserRegistry } from './user.ts';

/** The password of a user, verified, and hashed anew where its hash was made at another cost. */
export function createUserVerification(
  registry: Pick<UserRegistry, 'findByUsername' | 'update'> & {
    /** The record as it is in the store now. */
    readonly read: (userId: string) => Promise<User | undefined>;
  },
): UserRegistry['verify'] {
  const { findByUsername, update, read } = registry;

  /**
   * Hashing takes its time: a password that was changed, or an account that was ended meanwhile, signs nobody in.
   * Another sign-in may have hashed the same password anew.
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

  /** Hashes a password at today's cost. A change of the record that comes between stays as it is. */
  async function renewHash(user: User, password: string): Promise<User | undefined> {
    let kept = user.passwordHash;
    try {
      const passwordHash = await hashPassword(password);
      const renewed = await update(user.userId, (current) =>
        current.passwordHash === user.passwordHash ? { ...current, passwordHash } : current,
      );
      kept = renewed.passwordHash === passwordHash ? passwordHash : kept;
    } catch (error) {
      // The sign-in is valid without it; the next one tries again.
      if (!(error instanceof StoreUnavailableError || error instanceof PasswordHashingBusyError)) {
        throw error;
      }
    }
    return stillSignsIn({ ...user, passwordHash: kept }, password);
  }

  return async (username, password) => {
    if (Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES) {
      return undefined;
    }
    const user = await findByUsername(username);
    const matches = await verifyPassword(password, user?.passwordHash ?? decoyPasswordHash);
    const signedIn = matches && user !== undefined ? await stillSignsIn(user, password) : undefined;
    return signedIn !== undefined && isOutdatedHash(signedIn.passwordHash)
      ? renewHash(signedIn, password)
      : signedIn;
  };
}
