import type { Store } from '@gatehouse/store';
import { createRecordCache } from '../records/record-cache.ts';
import { withRecordLock } from '../records/record-lock.ts';

/** Revokes all credentials of the installation that were issued at this time or earlier. */
export interface NotBefore {
  /** Epoch seconds. The copy is at most 50 ms old. */
  read(): Promise<number>;
  /** Ignores earlier times. */
  advance(notBefore: number): Promise<void>;
}

const KEY = 'not-before';

/** A damaged not-before revokes everything until an operator sets it again. */
const parse = (text: string) => (/^\d{1,12}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY);

export function createNotBefore(dependencies: {
  readonly store: Store;
  readonly now: () => number;
}): NotBefore {
  const { store, now } = dependencies;
  const cache = createRecordCache(store, parse, now);
  return {
    read: async () => (await cache.read(KEY)) ?? 0,
    advance: (notBefore) =>
      withRecordLock(store, KEY, async (assertHeld) => {
        const existing = parse((await store.get(KEY)) ?? '0');
        assertHeld();
        if (notBefore > existing || !Number.isFinite(existing)) {
          await store.set(KEY, String(notBefore), undefined, { revokes: true });
        }
        cache.forget(KEY);
      }),
  };
}
