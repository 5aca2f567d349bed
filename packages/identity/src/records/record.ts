import type { Store } from '@gatehouse/store';
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

/** Returns undefined if the record is damaged, so that readers fail closed. */
export function parseRecord<Value>(schema: z.ZodType<Value>, text: string): Value | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
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
  const text = await store.get(key);
  const value = text === undefined ? undefined : parse(text);
  if (text !== undefined && value === undefined) {
    throw new Error(`The record ${key} in the store is damaged. Delete it, then create it again.`);
  }
  return value;
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

/**
 * Gatehouse rejects a change that an operator requested. The message contains reason and remedy.
 */
export class RejectedChangeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RejectedChangeError';
  }
}
