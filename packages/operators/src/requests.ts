/** The request log, with the reasons of failures explained. */
import { type FailureReason, failureReasons, isFailureReason } from '@gatehouse/errors';
import type { RequestEntry } from '@gatehouse/identity';
import { z } from 'zod';
import { userIdOf, withNames } from './audit.ts';
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
const AUDIT_ENTRIES = 20;
/** All that the log can hold, and more. */
const ALL = 100_000;
/** Around a request, for its neighbors. */
const NEIGHBOR_MILLISECONDS = 30 * 60_000;
const NEIGHBORS = 5;

/** Times are in epoch milliseconds. */
export const requestFilter = pageRequest.extend({
  /** A verified client, or one that the request names. */
  clientId: z.string().max(300).optional(),
  /** A username or a user id. */
  user: z.string().max(300).optional(),
  /** The organization of the client. */
  orgId: z.string().max(128).optional(),
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
type Sought = Omit<z.output<typeof requestFilter>, 'cursor'>;

/** One request. `explanation` is the entry of its reason in the catalogue. */
export type ExplainedRequest = ReturnType<typeof explained>;

/** Requests with the same outcome. Times are in epoch milliseconds. */
export type RequestGroup = ReturnType<typeof groupOf>;

export function createRequestActs({ identity }: Dependencies) {
  const { requestLog, audit, clients } = identity;

  async function read({ orgId, user, limit, ...filter }: Sought): Promise<readonly RequestEntry[]> {
    const userId = user === undefined ? undefined : await userIdOf(user, identity);
    if (orgId === undefined) {
      return requestLog.read({ ...filter, userId, limit });
    }
    const found = await requestLog.read({ ...filter, userId, limit: ALL });
    const ids = new Set(found.flatMap(({ clientId }) => clientId ?? []));
    const owners = await Promise.all([...ids].map((id) => clients.find(id)));
    const own = new Set(
      owners.flatMap((client) => (client?.orgId === orgId ? client.clientId : [])),
    );
    return found.filter(({ clientId = '' }) => own.has(clientId)).slice(0, limit);
  }

  return {
    /** Newest first: failures, and a sample of the others. */
    async list(filter: RequestFilter = {}): Promise<Page<ExplainedRequest>> {
      const { cursor, limit, ...sought } = parseInput(requestFilter, filter);
      const page = await readLogPage(
        { cursor, limit },
        ({ at }: RequestEntry) => at,
        (until = sought.until, most) => read({ ...sought, until, limit: most }),
      );
      return { ...page, items: page.items.map(explained) };
    },

    /** All of them in one reading of the log, newest first, without explanations. */
    async export(filter: Omit<RequestFilter, 'cursor' | 'limit'> = {}) {
      const { cursor: _cursor, limit: _limit, ...sought } = parseInput(requestFilter, filter);
      return (await read({ ...sought, limit: ALL })).map(withTime);
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
      const entries = await audit.read({ requestId: sought, limit: AUDIT_ENTRIES });
      return { requests: found.map(explained), audit: await withNames(entries, identity) };
    },

    /**
     * The requests before and after a request within half an hour, newest first: those of its client,
     * otherwise those of its address group.
     */
    async neighbors({
      requestId: id,
      time,
      clientId,
      addressGroup,
    }: Pick<ExplainedRequest, 'requestId' | 'time' | 'clientId' | 'addressGroup'>) {
      const at = Date.parse(time);
      const near = { since: at - NEIGHBOR_MILLISECONDS, until: at + NEIGHBOR_MILLISECONDS };
      const owner = clientId === undefined ? { addressGroup } : { clientId };
      const found = await requestLog.read({ ...owner, ...near, limit: ALL });
      const others = found.filter((entry) => entry.requestId !== id);
      const after = others.filter((entry) => entry.at > at).slice(-NEIGHBORS);
      const before = others.filter((entry) => entry.at <= at).slice(0, NEIGHBORS);
      return [...after, ...before].map(explained);
    },

    /** Failed requests by code, client and operation, the most frequent first. */
    async groups(filter: RequestFilter = {}): Promise<readonly RequestGroup[]> {
      const { cursor: _cursor, limit, ...sought } = parseInput(requestFilter, filter);
      const found = await read({ ...sought, limit: ALL });
      const failed = found.filter(({ reason }) => reason !== undefined);
      const groups = Map.groupBy(failed, ({ code, clientId, operation }) =>
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
  const { reason = '' } = entry;
  const explanation: FailureReason | undefined = isFailureReason(reason)
    ? failureReasons[reason]
    : undefined;
  return { ...withTime(entry), explanation };
}

const withTime = ({ at, ...members }: RequestEntry) => ({
  time: new Date(at).toISOString(),
  ...members,
});

/** @param entries newest first */
function groupOf(entries: readonly RequestEntry[]) {
  const { code, clientId, operation = '', requestId: latest = '', at: last = 0 } = entries[0] ?? {};
  const counts = new Map<string, number>();
  for (const { reason = '' } of entries) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  /** The most frequent first. */
  const reasons = [...counts].sort(([, a], [, b]) => b - a).map(([reason]) => reason);
  const first = entries.at(-1)?.at ?? last;
  const count = entries.length;
  return { code, clientId, operation, reasons, requestId: latest, count, first, last };
}
