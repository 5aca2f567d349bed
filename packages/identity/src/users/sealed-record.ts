/** Records of users with secrets: one for each user, sealed for its key. */
import type { Store } from '@gatehouse/store';
import type { z } from 'zod';
import { type OnDamagedRecord, parseRecord } from '../records/record.ts';
import { withRecordLock } from '../records/record-lock.ts';
import type { Sealer } from '../secrets/seal.ts';

export interface SealedRecordDependencies {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
}

/**
 * @param records.kind names the record in messages
 * @param records.advice what an operator does with a damaged one
 */
export function createSealedRecords<Value extends object>(
  records: {
    readonly kind: string;
    readonly keyOf: (userId: string) => string;
    readonly schema: z.ZodType<Value>;
    readonly advice: string;
  },
  { store, sealer, onDamagedRecord }: SealedRecordDependencies,
) {
  const { kind, keyOf, schema, advice } = records;

  /** @throws Error if the record is damaged, because its absence can mean less protection */
  async function find(userId: string): Promise<Value | undefined> {
    const key = keyOf(userId);
    const sealed = await store.get(key);
    if (sealed === undefined) {
      return undefined;
    }
    const value = parseRecord(schema, sealer.tryOpen(sealed, key) ?? '');
    if (value === undefined) {
      onDamagedRecord?.(kind, key, advice);
      throw new Error(`The record ${key} in the store is damaged. ${advice}`);
    }
    return value;
  }

  return {
    find,
    /**
     * Changes the record under its lock.
     *
     * @param decide returns the new value, undefined to remove the record, or why nothing changes
     * @returns undefined, or why nothing changed
     */
    change: <Refusal extends string>(
      userId: string,
      decide: (current: Value | undefined) => Value | Refusal | undefined,
    ): Promise<Refusal | undefined> =>
      withRecordLock(store, keyOf(userId), async (assertHeld) => {
        const key = keyOf(userId);
        const changed = decide(await find(userId));
        assertHeld();
        if (typeof changed === 'string') {
          return changed;
        }
        await (changed === undefined
          ? store.delete([key])
          : store.set(key, sealer.seal(JSON.stringify(changed), key)));
        return undefined;
      }),
    /** Also if the record is damaged. */
    remove: (userId: string): Promise<void> =>
      withRecordLock(store, keyOf(userId), async (assertHeld) => {
        assertHeld();
        await store.delete([keyOf(userId)]);
      }),
  };
}
