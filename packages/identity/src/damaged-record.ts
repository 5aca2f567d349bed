/**
 * Told that a record cannot be read: no JSON, members missing, or a sealed text that does not open. Whoever reads it
 * treats it as absent, so that it opens nothing. Must not throw.
 *
 * @param kind what the record is: a client, a user, a model of the provider. Never its contents
 */
export type OnDamagedRecord = (kind: string) => void;

/** What a record holds, or undefined; a damaged one is reported. */
export function readRecord<Value>(
  text: string | undefined,
  parse: (text: string) => Value | undefined,
  { kind, onDamagedRecord }: { readonly kind: string; readonly onDamagedRecord?: OnDamagedRecord },
): Value | undefined {
  if (text === undefined) {
    return undefined;
  }
  const value = parse(text);
  if (value === undefined) {
    onDamagedRecord?.(kind);
  }
  return value;
}
