import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Store, StoreUnavailableError } from '@gatehouse/store';

/** A process that dies while it holds a lock delays others for this time. */
const LOCK_SECONDS = 10;
/** The rest is a margin, so that a write or release arrives before the lock expires. */
const USABLE_MILLISECONDS = 8_000;
const WAIT_MILLISECONDS = 15_000;
const MAXIMUM_PAUSE_MILLISECONDS = 20;

/**
 * Lets only one process at a time change a record. Otherwise, one of two concurrent changes, such
 * as a new key and a revocation, would be lost.
 *
 * @param work calls `assertHeld` before it writes, because a process that was paused must not write
 * @throws StoreUnavailableError if the lock was not acquired, or expired during the work
 */
export async function withRecordLock<Result>(
  store: Store,
  recordKey: string,
  work: (assertHeld: () => void) => Promise<Result>,
): Promise<Result> {
  const lockKey = `lock:${recordKey}`;
  const owner = randomBytes(16).toString('hex');
  const acquiredAt = await acquire(store, lockKey, owner);
  const isHeld = () => performance.now() - acquiredAt < USABLE_MILLISECONDS;
  try {
    return await work(() => {
      if (!isHeld()) {
        throw new StoreUnavailableError('lock', new Error(`The lock of ${recordKey} expired.`));
      }
    });
  } finally {
    if (isHeld()) {
      // If the release fails, the lock expires. The write is already done.
      await store.delete([lockKey]).catch(() => undefined);
    }
  }
}

/** @returns when the claim was sent, because the lifetime of the lock starts after that */
async function acquire(store: Store, lockKey: string, owner: string): Promise<number> {
  const giveUpAt = performance.now() + WAIT_MILLISECONDS;
  for (;;) {
    const sentAt = performance.now();
    // Revoking a client or user needs its lock, also while the store is full.
    const holder = await store.claim(lockKey, owner, LOCK_SECONDS, { revokes: true });
    if (holder === owner) {
      return sentAt;
    }
    if (sentAt > giveUpAt) {
      throw new StoreUnavailableError('lock', new Error(`Another process holds ${lockKey}.`));
    }
    await sleep(Math.random() * MAXIMUM_PAUSE_MILLISECONDS);
  }
}
