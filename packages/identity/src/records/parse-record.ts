import type { Store } from '@gatehouse/store';
import type { z } from 'zod';

/** What a stored text holds, or undefined when it is damaged: readers fail closed. */
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
 * The record as it is now, for who is about to replace it.
 *
 * @throws Error when it is damaged: overwriting it would forget what was revoked
 */
export async function readForUpdate<Value>(
  store: Store,
  key: string,
  parse: (text: string) => Value | undefined,
): Promise<Value | undefined> {
  const text = await store.get(key);
  const value = text === undefined ? undefined : parse(text);
  if (text !== undefined && value === undefined) {
    throw new Error(`The record ${key} in the store is damaged. Delete it to create it anew.`);
  }
  return value;
}
