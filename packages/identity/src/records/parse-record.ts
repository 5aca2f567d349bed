import type { Store } from '@gatehouse/store';
import type { z } from 'zod';

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
