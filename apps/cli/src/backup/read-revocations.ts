import { clientChangeNames, RejectedChangeError, userChangeNames } from '@gatehouse/identity';
import { z } from 'zod';
import { readCompleteExport } from '../audit-export/read-complete-export.ts';

/** The times of entries are compared as text. */
const time = z.iso.datetime({ precision: 3 });
const entryTimes = z.object({ event: z.string(), at: time, lastAt: time.optional() });

const revocation = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('client_changed'),
    at: time,
    clientId: z.string(),
    change: z.enum(clientChangeNames),
    keyId: z.string().optional(),
  }),
  z.object({
    event: z.literal('user_changed'),
    at: time,
    userId: z.string(),
    change: z.enum(userChangeNames),
  }),
  z.object({ event: z.literal('bootstrap_applied'), at: time }),
]);

/** An entry of an audit export that a restore may have to repeat. */
export type Revocation = z.infer<typeof revocation>;

const repeatedEvents: ReadonlySet<string> = new Set(
  revocation.options.map(({ shape }) => shape.event.value),
);

export interface Revocations {
  /** In the order of the export. */
  readonly entries: readonly Revocation[];
  /** The time of the last event in the export. */
  readonly newest: string;
}

/**
 * @param hash of a line that the export must contain
 * @throws RejectedChangeError if the export is broken, empty, incomplete or of a later release
 */
export async function readRevocations(
  path: string,
  hash: string | undefined,
): Promise<Revocations> {
  const entries: Revocation[] = [];
  let line = 0;
  const { newest = '' } = await readCompleteExport(path, hash, (entry) => {
    line += 1;
    if (repeatedEvents.has(parse(entryTimes, entry, line).event)) {
      entries.push(parse(revocation, entry, line));
    }
  });
  return { entries, newest };
}

function parse<Value>(schema: z.ZodType<Value>, entry: unknown, line: number): Value {
  const { success, data } = schema.safeParse(entry);
  if (!success) {
    throw new RejectedChangeError(`Line ${line} is not an audit entry that this release knows.`);
  }
  return data;
}
