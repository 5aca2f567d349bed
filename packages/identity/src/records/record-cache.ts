import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import type { OnDamagedRecord } from './damaged-record.ts';

/** A revoked client or user is refused this soon: records are read at most this old. */
export const MAXIMUM_RECORD_AGE_MILLISECONDS = 50;
const MAXIMUM_ENTRIES = 10_000;
/** Longer than any key that was ever written: remembering those would let a caller fill the memory. */
const MAXIMUM_KEY_LENGTH = 256;

interface Entry<Value> {
  readonly text: string | undefined;
  readonly value: Value | undefined;
  readonly readAt: number;
}

export interface RecordCache<Value> {
  read(key: string): Promise<Value | undefined>;
  forget(key: string): void;
}

interface Reading<Value> {
  readonly startedAt: number;
  readonly answer: Promise<Value | undefined>;
}

/**
 * Reads records through a copy that is at most 50 ms old, so that a busy client costs twenty store reads a
 * second instead of one a request. What does not exist is remembered as long and no longer: otherwise the
 * time of a second look would tell who exists (CWE-203). A record that has not changed stays the same object, so that
 * what was made of it can be kept beside it.
 *
 * @param parse a record, or undefined for a text that is none: what is damaged does not exist
 */
export function createRecordCache<Value>(
  store: Store,
  parse: (text: string) => Value | undefined,
  now: () => number,
  damage?: { readonly kind: string; readonly onDamagedRecord?: OnDamagedRecord | undefined },
): RecordCache<Value> {
  const entries = new LRUCache<string, Entry<Value>>({ max: MAXIMUM_ENTRIES });
  const running = new Map<string, Reading<Value>>();
  let forgotten = 0;

  async function readAnew(key: string, readAt: number): Promise<Value | undefined> {
    const forgottenBefore = forgotten;
    const text = await store.get(key);
    const known = entries.get(key);
    const value = parseAnew(text, known, parse);
    if (text !== undefined && value === undefined && known?.text !== text) {
      damage?.onDamagedRecord?.(damage.kind);
    }
    // A write that came between must not be hidden behind the older copy.
    if (forgotten === forgottenBefore && key.length <= MAXIMUM_KEY_LENGTH) {
      entries.set(key, { text, value, readAt });
    }
    return value;
  }

  return {
    async read(key) {
      const readAt = now();
      const entry = entries.get(key);
      if (entry !== undefined && isFresh(readAt - entry.readAt)) {
        return entry.value;
      }
      // Whoever asks while a copy is renewed shares the one read: it is no older than a copy may be.
      const joinable = running.get(key);
      if (joinable !== undefined && isFresh(readAt - joinable.startedAt)) {
        return joinable.answer;
      }
      const reading: Reading<Value> = { startedAt: readAt, answer: readAnew(key, readAt) };
      running.set(key, reading);
      try {
        return await reading.answer;
      } finally {
        if (running.get(key) === reading) {
          running.delete(key);
        }
      }
    },
    forget(key) {
      forgotten += 1;
      running.delete(key);
      entries.delete(key);
    },
  };
}

function parseAnew<Value>(
  text: string | undefined,
  known: Entry<Value> | undefined,
  parse: (text: string) => Value | undefined,
): Value | undefined {
  if (text === undefined) {
    return undefined;
  }
  return known?.text === text ? known.value : parse(text);
}

/** A negative age is a clock that was set back: an old copy must not live on until it catches up. */
function isFresh(age: number): boolean {
  return age >= 0 && age < MAXIMUM_RECORD_AGE_MILLISECONDS;
}
