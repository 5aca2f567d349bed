import type { Store } from '@gatehouse/store';
import type { Identity } from '../open-identity.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { RejectedChangeError } from '../records/rejected-change-error.ts';
import { createSealer, type Sealer } from '../secrets/seal.ts';
import { type SealedRecord, sealedRecords } from './sealed-records.ts';

/** Servers on other hosts, which still have the old file, can undo part of a pass. */
const MAXIMUM_PASSES = 5;

export interface Readers {
  readonly current: Sealer;
  readonly any: Sealer;
}

export function createReaders(current: Buffer, any: Sealer): Readers {
  return { current: createSealer(current), any };
}

/** @returns the number of changed records */
export async function resealAll(identity: Identity, readers: Readers): Promise<number> {
  let total = 0;
  for (let pass = 0; pass < MAXIMUM_PASSES; pass += 1) {
    let changed = 0;
    for await (const record of sealedRecords(identity)) {
      changed += (await reseal(identity.store, record, readers)) ? 1 : 0;
    }
    total += changed;
    if (changed === 0) {
      return total;
    }
  }
  throw new RejectedChangeError(
    'A server still encrypts with the previous key. Copy the key file to every host, then repeat the command.',
  );
}

/**
 * Clients and signing keys change under their lock, because a change that started earlier would
 * write the old text back. Sessions have no lock. If one changes meanwhile, the next pass repeats it.
 */
async function reseal(store: Store, record: SealedRecord, readers: Readers): Promise<boolean> {
  const read = async () => {
    const text = await store.get(record.key);
    return text !== undefined && useOf(record, text, readers) === 'previous' ? text : undefined;
  };
  const write = async (assertHeld: () => void) => {
    const text = await read();
    if (text === undefined) {
      return false;
    }
    assertHeld();
    await store.replace(record.key, text, resealText(record, text, readers));
    return true;
  };
  if ((await read()) === undefined) {
    return false;
  }
  return record.kind === 'client' || record.kind === 'signing key'
    ? withRecordLock(store, record.key, write)
    : write(() => undefined);
}

function resealText(record: SealedRecord, text: string, { current, any }: Readers): string {
  return record.map(text, (sealed, context) =>
    opens(current, sealed, context) || !opens(any, sealed, context)
      ? sealed
      : current.seal(any.open(sealed, context), context),
  );
}

/** Which key of the file the record needs. */
export function useOf(
  record: SealedRecord,
  text: string,
  { current, any }: Readers,
): 'current' | 'previous' | 'damaged' {
  let use: 'current' | 'previous' | 'damaged' = 'current';
  record.map(text, (sealed, context) => {
    if (!opens(current, sealed, context)) {
      use = opens(any, sealed, context) ? 'previous' : use === 'current' ? 'damaged' : use;
    }
    return sealed;
  });
  return use;
}

function opens(sealer: Sealer, sealed: string, context: string): boolean {
  try {
    sealer.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}
