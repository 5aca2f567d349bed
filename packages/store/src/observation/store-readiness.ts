import { type Store, StoreFullError } from '../port/store.ts';
import { NEARLY_FULL_SHARE, shareUsed } from '../port/store-room.ts';

export interface StoreReadiness {
  readonly ready: boolean;
  readonly state: 'ok' | 'nearly full' | 'full' | 'unavailable';
}

/**
 * The state of the store in `/ready`. A full store still serves reads, and all
 * processes share it, so taking an instance out of rotation would only stop the calls that work.
 * Not ready means that another instance may reach a working store: this one reaches none, or a
 * Redis that may have missed a revocation (`READONLY`, `NOREPLICAS`).
 */
export async function storeReadiness(store: Pick<Store, 'ping'>): Promise<StoreReadiness> {
  try {
    const isNearlyFull = shareUsed(await store.ping()) >= NEARLY_FULL_SHARE;
    return { ready: true, state: isNearlyFull ? 'nearly full' : 'ok' };
  } catch (error) {
    const isFull = error instanceof StoreFullError;
    return { ready: isFull, state: isFull ? 'full' : 'unavailable' };
  }
}
