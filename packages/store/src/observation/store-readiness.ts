import { type Store, StoreFullError } from '../port/store.ts';
import { NEARLY_FULL_SHARE, shareUsed } from '../port/store-room.ts';

export interface StoreReadiness {
  readonly ready: boolean;
  readonly state: 'ok' | 'nearly full' | 'full' | 'unavailable';
}

/**
 * The state of the store in `/ready`. A nearly full store still serves every request. All processes
 * share it, so taking an instance out of rotation would not help.
 */
export async function storeReadiness(store: Pick<Store, 'ping'>): Promise<StoreReadiness> {
  try {
    const isNearlyFull = shareUsed(await store.ping()) >= NEARLY_FULL_SHARE;
    return { ready: true, state: isNearlyFull ? 'nearly full' : 'ok' };
  } catch (error) {
    return { ready: false, state: error instanceof StoreFullError ? 'full' : 'unavailable' };
  }
}
