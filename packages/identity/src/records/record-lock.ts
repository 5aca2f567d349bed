import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Store, StoreUnavailableError } from '@gatehouse/store';

/** A process that died holding a lock delays the others this long. */
const LOCK_SECONDS = 10;
/** The rest is for the write or the release to arrive while the lock is still ours. */
const USABLE_MILLISECONDS = 8_000;
const WAIT_MILLISECONDS = 15_000;
const LONGEST_PAUSE_MILLISECONDS = 20;

/**
 * Reads, changes and writes one record, one process at a time: without it, of two changes at once (a new
 * key, a revocation) one is lost.
 *
 * @param work calls `assertHeld` right before it writes: who was stopped for too long must not write
 * @throws StoreUnavailableError when the lock was not to be had, or ran out during the work
 */
export async function withRecordLock<Result>(
  store: Store,
  recordKey: string,
  work: (assertHeld: () => void) => Promise<Result>,
): Promise<Result> {
  const lockKey = `lock:${recordKey}`;
  const owner = randomBytes(16).toString('hex');
  const takenAt = await take(store, lockKey, owner);
  const isHeld = () => performance.now() - takenAt < USABLE_MILLISECONDS;
  try {
    return await work(() => {
      if (!isHeld()) {
        throw new StoreUnavailableError('lock', new Error(`The lock of ${recordKey} ran out.`));
      }
    });
  } finally {
    if (isHeld()) {
      // A lock that cannot be given back now ends by itself; what was written stays written.
      await store.delete([lockKey]).catch(() => undefined);
    }
  }
}

/** @returns when the claim was sent: the lock holds no shorter than from then on */
async function take(store: Store, lockKey: string, owner: string): Promise<number> {
  const giveUpAt = performance.now() + WAIT_MILLISECONDS;
  for (;;) {
    const sentAt = performance.now();
    // A client or user is revoked under its lock, also while the store is full.
    const holder = await store.claim(lockKey, owner, LOCK_SECONDS, { revokes: true });
    if (holder === owner) {
      return sentAt;
    }
    if (sentAt > giveUpAt) {
      throw new StoreUnavailableError('lock', new Error(`${lockKey} stays taken.`));
    }
    await sleep(Math.random() * LONGEST_PAUSE_MILLISECONDS);
  }
}
