/** Records of the store: how they are parsed, read through a copy, and reported if damaged. */
import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

/** A text that people read. */
export const text = (maximum: number) =>
  z
    .string()
    .max(maximum, `must not be longer than ${maximum} characters`)
    .refine((value) => value.trim() !== '', 'must not be blank')
    .refine((value) => !/\p{Cc}/u.test(value), 'must not contain control characters');

export const identifier = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable ASCII characters without spaces');

/** The name of a role, which operators choose. */
export const role = text(100).refine(
  (value) => value.trim() === value,
  'must not start or end with white space',
);

export const hostName = z
  .string()
  .max(253)
  .refine(
    (value) => URL.parse(`https://${value}`)?.hostname === value && !/^\[|[*.]$|\.\d+$/.test(value),
    'must be the name of a host in lower case, without scheme, port and path',
  );

/** Addresses that the server calls, such as the key set of a client, or an upstream provider. */
export const calledAddress = z
  .string()
  .max(500)
  .refine((value) => {
    const url = URL.parse(value);
    const isPlain = url?.username === '' && url.password === '' && url.hash === '';
    return url?.protocol === 'https:' && isPlain && !value.includes('#');
  }, 'must be an https address without user name and fragment');

/** Returns undefined if the record is absent or damaged, so that readers fail closed. */
export function parseRecord<Value>(
  schema: z.ZodType<Value>,
  text: string | undefined,
): Value | undefined {
  try {
    return schema.safeParse(JSON.parse(text ?? '')).data;
  } catch {
    return undefined;
  }
}

/**
 * Reads the current record before an update.
 *
 * @throws Error if the record is damaged. Overwriting it could undo a revocation
 */
export async function readForUpdate<Value>(
  store: Store,
  key: string,
  parse: (text: string) => Value | undefined,
): Promise<Value | undefined> {
  return readRecord(await store.get(key), parse, () => {
    throw new Error(`The record ${key} in the store is damaged. Delete it, then create it again.`);
  });
}

/**
 * Called if a record is damaged: its JSON is invalid, members are missing, or it cannot be
 * decrypted. Readers treat the record as absent. Must not throw.
 *
 * @param kind the kind of record, such as a client or user. Never its contents
 * @param key the key in the store: an id, or the HMAC of a credential. It contains no secret
 * @param advice what an operator should do, if it depends on the kind
 */
export type OnDamagedRecord = (kind: string, key: string, advice?: string) => void;

/** The store and the clock (epoch milliseconds) of those who read records. */
export interface RecordDependencies {
  readonly store: Store;
  readonly now: () => number;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
}

const REPORT_AGAIN_MILLISECONDS = 60_000;

/**
 * Reports each kind once per minute. Otherwise, a record that every request reads fills the log.
 */
export function limitReports(
  report: OnDamagedRecord | undefined,
  now: () => number,
): OnDamagedRecord {
  const reportedAt = new Map<string, number>();
  return (kind, key, advice) => {
    const age = now() - (reportedAt.get(kind) ?? Number.NEGATIVE_INFINITY);
    if (age < 0 || age >= REPORT_AGAIN_MILLISECONDS) {
      reportedAt.set(kind, now());
      report?.(kind, key, advice);
    }
  };
}

/** Returns undefined if the record is absent or damaged. */
export function readRecord<Value>(
  text: string | undefined,
  parse: (text: string) => Value | undefined,
  onDamaged: () => void,
): Value | undefined {
  const value = text === undefined ? undefined : parse(text);
  if (text !== undefined && value === undefined) {
    onDamaged();
  }
  return value;
}

/** A revocation of a client or user takes effect within this time. */
export const MAXIMUM_RECORD_AGE_MILLISECONDS = 50;
const MAXIMUM_ENTRIES = 10_000;
/** No record has a longer key. Caching longer ones would let a caller fill the memory. */
const MAXIMUM_KEY_LENGTH = 256;

/**
 * Reads records through a copy that is at most 50 ms old, so that a busy client costs twenty store
 * reads per second. Absent records are cached for the same time. Otherwise, timing would reveal
 * which records exist (CWE-203). An unchanged record stays the same object, so that callers can use
 * it as a key of a `WeakMap`.
 *
 * @param parse returns undefined for a damaged record
 */
export function createRecordCache<Value>(
  store: Store,
  parse: (text: string) => Value | undefined,
  now: () => number,
  onDamaged?: (key: string) => void,
) {
  const entries = new LRUCache<
    string,
    {
      readonly text: string | undefined;
      readonly value: Value | undefined;
      readonly readAt: number;
    }
  >({ max: MAXIMUM_ENTRIES });
  const running = new Map<string, { startedAt: number; value: Promise<Value | undefined> }>();
  let forgotten = 0;

  async function readFromStore(key: string, readAt: number): Promise<Value | undefined> {
    const forgottenBefore = forgotten;
    const text = await store.get(key);
    const known = entries.get(key);
    let value = known?.value;
    if (text !== known?.text) {
      value = readRecord(text, parse, () => onDamaged?.(key));
    }
    // The copy must not hide a write that happened in the meantime.
    if (forgotten === forgottenBefore && key.length <= MAXIMUM_KEY_LENGTH) {
      entries.set(key, { text, value, readAt });
    }
    return value;
  }

  return {
    async read(key: string): Promise<Value | undefined> {
      const readAt = now();
      const entry = entries.get(key);
      if (entry !== undefined && isFresh(readAt - entry.readAt)) {
        return entry.value;
      }
      // Concurrent callers share a read while its result is fresh.
      const joinable = running.get(key);
      if (joinable !== undefined && isFresh(readAt - joinable.startedAt)) {
        return joinable.value;
      }
      const reading = { startedAt: readAt, value: readFromStore(key, readAt) };
      running.set(key, reading);
      try {
        return await reading.value;
      } finally {
        if (running.get(key) === reading) {
          running.delete(key);
        }
      }
    },
    forget(key: string): void {
      forgotten += 1;
      running.delete(key);
      entries.delete(key);
    },
  };
}

/** The age is negative if the clock was set back. The copy is then not fresh. */
function isFresh(age: number): boolean {
  return age >= 0 && age < MAXIMUM_RECORD_AGE_MILLISECONDS;
}

/**
 * One second in the future. The times of issue are whole seconds, copies are up to 50 ms old, and
 * clocks differ. Requests that are being served must not issue credentials that survive.
 */
export function nextNotBefore(nowMilliseconds: number): number {
  return Math.floor(nowMilliseconds / 1000) + 1;
}

/**
 * Gatehouse rejects a change that an operator requested. The message contains reason and remedy.
 */
export class RejectedChangeError extends Error {
  override readonly name = 'RejectedChangeError';
}

/**
 * Derives a value once for each object, such as a record: an unchanged one stays the same object. A
 * result of undefined is derived again.
 */
export function memoized<Source extends object, Value>(
  derive: (source: Source) => Value,
): (source: Source) => Value {
  const known = new WeakMap<Source, Value>();
  return (source) => {
    let value = known.get(source);
    if (value === undefined) {
      value = derive(source);
      known.set(source, value);
    }
    return value;
  };
}
