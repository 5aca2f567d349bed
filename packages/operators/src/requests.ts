/** The request log, with the reasons of failures explained. */
import { type FailureReason, failureReasons, isFailureReason } from '@gatehouse/errors';
import type { RequestEntry } from '@gatehouse/identity';
import { z } from 'zod';
import { withNames } from './audit.ts';
import {
  type Dependencies,
  OperatorError,
  type Page,
  pageRequest,
  parseInput,
  readLogPage,
} from './operator.ts';

/** As in packages/server, which replaces any other id. */
const requestId = z.string().regex(/^[A-Za-z0-9._-]{8,64}$/, {
  error: 'must have 8 to 64 characters: letters, digits, ".", "_", "-"',
});
const MAXIMUM_AUDIT_ENTRIES = 20;
/** All that the log can hold, and more. */
const ALL = 100_000;

/** Times are in epoch milliseconds. */
export const requestFilter = pageRequest.extend({
  /** A verified client, or one that the request names. */
  clientId: z.string().max(300).optional(),
  code: z.string().max(100).optional(),
  reason: z
    .string()
    .max(100)
    .refine(isFailureReason, 'must be a reason that packages/errors lists')
    .optional(),
  operation: z.string().max(200).optional(),
  addressGroup: z.string().max(100).optional(),
  since: z.coerce.number().optional(),
  until: z.coerce.number().optional(),
});
export type RequestFilter = z.input<typeof requestFilter>;

/** One request. `explanation` is the entry of its reason in the catalogue. */
export type ExplainedRequest = ReturnType<typeof explained>;

/** Requests with the same outcome. Times are in epoch milliseconds. */
export interface RequestGroup {
  readonly code: string | undefined;
  readonly clientId: string | undefined;
  readonly operation: string;
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

export function createRequestActs({ identity }: Dependencies) {
  const { requestLog, audit } = identity;
  return {
    /** Newest first: failures, and a sample of the others. */
    async list(filter: RequestFilter = {}): Promise<Page<ExplainedRequest>> {
      const { cursor, limit, ...sought } = parseInput(requestFilter, filter);
      const page = await readLogPage(
        { cursor, limit },
        ({ at }: RequestEntry) => at,
        (until = sought.until, most) => requestLog.read({ ...sought, until, limit: most }),
      );
      return { ...page, items: page.items.map(explained) };
    },

    /**
     * The requests with an id, oldest first, and their audit entries. Callers can choose an id that
     * was used before.
     */
    async read(id: string) {
      const sought = parseInput(z.object({ requestId }), { requestId: id }).requestId;
      const found = await requestLog.find(sought);
      if (found.length === 0) {
        throw new OperatorError('not_found', 'The request log has no request with this id.');
      }
      const entries = await audit.read({ requestId: sought, limit: MAXIMUM_AUDIT_ENTRIES });
      return { requests: found.map(explained), audit: await withNames(entries, identity) };
    },

    /** Requests by code, client and operation, the most frequent first. */
    async groups(filter: RequestFilter = {}): Promise<readonly RequestGroup[]> {
      const { cursor: _cursor, limit, ...sought } = parseInput(requestFilter, filter);
      const found = await requestLog.read({ ...sought, limit: ALL });
      const groups = Map.groupBy(found, ({ code, clientId, operation }) =>
        JSON.stringify([code, clientId, operation]),
      );
      return [...groups.values()]
        .map((entries) => groupOf(entries))
        .sort((a, b) => b.count - a.count || b.last - a.last)
        .slice(0, limit);
    },
  };
}

function explained(entry: RequestEntry) {
  const { at, ...members } = entry;
  return { time: new Date(at).toISOString(), ...members, explanation: explanationOf(entry) };
}

function explanationOf({ reason }: RequestEntry): FailureReason | undefined {
  return reason !== undefined && isFailureReason(reason) ? failureReasons[reason] : undefined;
}

function groupOf(entries: readonly RequestEntry[]): RequestGroup {
  const { code, clientId, operation = '' } = entries[0] ?? {};
  const times = entries.map(({ at }) => at);
  // Not spread: there can be more entries than a call can have arguments.
  const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const last = times.reduce((a, b) => Math.max(a, b), 0);
  return { code, clientId, operation, count: entries.length, first, last };
}
