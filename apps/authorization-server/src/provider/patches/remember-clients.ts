import type { ClientRegistry, Client as Registered } from '@gatehouse/identity';
import type Provider from 'oidc-provider';

/**
 * The library describes, serialises and hashes a client at every look-up to find what it built of it before. A
 * record of the registry is one object for as long as it is fresh, so what was built of it is kept beside it.
 */
export function rememberClients(provider: Provider, clients: ClientRegistry): void {
  const built = new WeakMap<Registered, InstanceType<Provider['Client']>>();
  const build = provider.Client.find.bind(provider.Client);
  provider.Client.find = async (clientId) => {
    const record = await clients.find(clientId);
    const known = record === undefined ? undefined : built.get(record);
    if (known !== undefined) {
      return known;
    }
    const client = await build(clientId);
    if (record !== undefined && client !== undefined) {
      built.set(record, client);
    }
    return client;
  };
}
