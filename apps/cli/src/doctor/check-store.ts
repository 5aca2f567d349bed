import { type Client, demoProblems, grantFacts, type Identity } from '@gatehouse/identity';
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { checkClock, checkForwarding, type PublicServer } from './check-servers.ts';
import { type Finding, type FindingId, finding } from './findings.ts';

const NEARLY_FULL_PERCENT = 80;

/**
 * An open store: its space and clock, its clients, and what its request log shows.
 *
 * @throws StoreUnavailableError
 */
export async function checkStore(
  identity: Identity,
  servers: readonly PublicServer[],
): Promise<readonly Finding[]> {
  const { store, clients, requestLog } = identity;
  const remote = servers.filter(({ url }) => !isLoopbackUrl(url));
  const isPublic = remote.length > 0;
  const startedAt = Date.now();
  const room = await store.ping();
  const at = (startedAt + Date.now()) / 2;
  const { usedBytes, maximumBytes = Number.POSITIVE_INFINITY } = room;
  const percent = Math.floor((usedBytes / maximumBytes) * 100);
  const demo = isPublic ? await demoProblems(identity) : [];
  const forwarding = await Promise.all(remote.map((each) => checkForwarding(each, requestLog)));
  return [
    ...(percent < NEARLY_FULL_PERCENT
      ? []
      : [finding('store_nearly_full', `The store uses ${percent} % of its space.`)]),
    ...demo.map(({ name, message }) => finding('demo_in_production', `${name} ${message}.`)),
    ...room.servers.flatMap(({ time }) => checkClock('Redis', time, at)),
    ...checkClients(await clients.list(), isPublic, clients),
    ...forwarding.flat(),
  ];
}

/** Weak settings of the enabled clients. One finding names all clients of a kind. */
function checkClients(
  clients: readonly Client[],
  isPublic: boolean,
  { keyIds }: Pick<Identity['clients'], 'keyIds'>,
): readonly Finding[] {
  const signsWith = (algorithm: string) => (client: Client) =>
    client.signatureAlgorithm === algorithm && client.keys.some(({ state }) => state === 'active');
  const hasWeakGrant = ({ grantTypes }: Client) =>
    grantTypes.some((type) => grantFacts(type).isLegacy);
  const kinds: readonly (readonly [FindingId, (client: Client) => boolean])[] = [
    ['client_uses_md5', signsWith('MD5')],
    ['client_uses_version_1', (client) => isPublic && signsWith('SHA-256')(client)],
    ['client_has_weak_grant', hasWeakGrant],
    ['client_has_no_key', (client) => !client.public && keyIds(client).length === 0],
  ];
  return kinds.flatMap(([id, isWeak]) => {
    const found = clients.filter((client) => client.enabled && isWeak(client));
    const names = found.map(({ clientId }) => clientId).join(', ');
    return found.length === 0 ? [] : [finding(id, `Clients: ${names}.`)];
  });
}
