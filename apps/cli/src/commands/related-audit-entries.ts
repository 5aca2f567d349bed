import {
  type AuditEntry,
  type AuditTrail,
  lastTimeOf,
  type RequestEntry,
} from '@gatehouse/identity';

const MAXIMUM_ENTRIES = 20;
/** More than the entries of one client that events of one second change. */
const SEARCHED_ENTRIES = 500;
/** Between a request and its audit entry. */
const TOLERANCE_MILLISECONDS = 5000;

/**
 * The audit entries with the id of the requests, and those that count the requests: equal events of
 * an hour share an entry, which has the id of the first one.
 */
export async function relatedAuditEntries(
  requests: readonly RequestEntry[],
  audit: AuditTrail,
): Promise<readonly AuditEntry[]> {
  const requestId = requests[0]?.requestId;
  const own = await audit.read({ requestId, limit: MAXIMUM_ENTRIES });
  const shared = await Promise.all(requests.map((request) => entriesThatCount(request, audit)));
  const known = new Set<string>();
  return [...own, ...shared.flat()]
    .filter(({ id }) => !known.has(id) && known.add(id))
    .slice(0, MAXIMUM_ENTRIES);
}

async function entriesThatCount(
  { at, app, clientId, reason }: RequestEntry,
  audit: AuditTrail,
): Promise<readonly AuditEntry[]> {
  if (clientId === undefined || reason === undefined) {
    return [];
  }
  const since = new Date(at - TOLERANCE_MILLISECONDS).toISOString();
  const until = new Date(at + TOLERANCE_MILLISECONDS).toISOString();
  const found = await audit.read({ clientId, since, until, limit: SEARCHED_ENTRIES });
  return found.filter(
    (entry) =>
      (entry.count ?? 1) > 1 &&
      entry.actor === app &&
      'reason' in entry &&
      entry.reason === reason &&
      lastTimeOf(entry) >= since,
  );
}
