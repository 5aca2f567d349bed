import { type Client, type Identity, MAXIMUM_AUDIT_ENTRIES } from '@gatehouse/identity';
import { type Finding, finding } from '../finding.ts';
import { listed } from './listed-clients.ts';

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
const UNUSED_DAYS = 30;

/**
 * Enabled clients with a key that is older than 30 days, which got no token and sent no verified
 * request since. Public clients have no key that can be stolen.
 */
export async function checkUnusedClients(
  { clients, audit, requestLog }: Pick<Identity, 'clients' | 'audit' | 'requestLog'>,
  now: number,
): Promise<readonly Finding[]> {
  const since = now - UNUSED_DAYS * DAY_MILLISECONDS;
  const [events, requests] = await Promise.all([
    audit.read({ since: new Date(since).toISOString(), limit: MAXIMUM_AUDIT_ENTRIES }),
    requestLog.read({ since, limit: MAXIMUM_AUDIT_ENTRIES }),
  ]);
  const uses = [
    ...events.filter(({ event }) => event === 'token_issued'),
    ...requests.filter(({ verified }) => verified),
  ];
  const used = new Set(uses.map(({ clientId }) => clientId));
  const isOld = (client: Client) =>
    clients
      .describeKeys(client)
      .every(({ createdAt }) => createdAt !== undefined && createdAt * 1000 < since);
  const unused = (await clients.list())
    .filter((client) => client.enabled && !client.public && isOld(client))
    .map(({ clientId }) => clientId)
    .filter((clientId) => !used.has(clientId));
  return unused.length === 0
    ? []
    : [
        finding(
          'client_unused',
          `${listed(unused)} left no entry in the last ${UNUSED_DAYS} days.`,
        ),
      ];
}
