/**
 * Told that a record cannot be read: invalid JSON, members missing, or a sealed text that does not open. Whoever reads it
 * treats it as absent, so that it opens nothing. Must not throw.
 *
 * @param kind what the record is: a client, a user, a model of the provider. Never its contents
 * @param advice what an operator should do, where it depends on the kind
 */
export type OnDamagedRecord = (kind: string, advice?: string) => void;

const REPORT_AGAIN_MILLISECONDS = 60_000;

/** Reports each kind once a minute: a record that is read with every request must not fill the log. */
export function limitReports(
  report: OnDamagedRecord | undefined,
  now: () => number,
): OnDamagedRecord {
  const reportedAt = new Map<string, number>();
  return (kind, advice) => {
    const age = now() - (reportedAt.get(kind) ?? Number.NEGATIVE_INFINITY);
    if (age < 0 || age >= REPORT_AGAIN_MILLISECONDS) {
      reportedAt.set(kind, now());
      report?.(kind, advice);
    }
  };
}

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
