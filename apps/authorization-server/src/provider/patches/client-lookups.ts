import type { IncomingMessage } from 'node:http';
import type { Client as RegisteredClient } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { addressGroupOf } from '../../http/address-group-of.ts';
import { clientEndpointPaths } from '../../http/provider-routes.ts';
import { currentContext } from './current-context.ts';
import { methodJoint, type Patch } from './patch.ts';

const presentedClients = new WeakMap<IncomingMessage, string>();

/** The client id that a request to a client endpoint presented, whether it is registered or not. */
export const presentedClientOf = (request: IncomingMessage) => presentedClients.get(request);

const requestsOfDisabled = new WeakSet<IncomingMessage>();

/** Whether the request named a client that is registered but disabled. For the log only. */
export const isDisabledClient = (request: IncomingMessage) => requestsOfDisabled.has(request);

export const clientLookups: Patch = {
  name: 'client-lookups',
  reason:
    'The limit of failed secrets must apply before a client is looked up, so that known and unknown ' +
    'clients get the same reply. The library also describes and hashes a client at every lookup to find the ' +
    'object that it built before; remembering it by registry record costs one map access.',
  libraryFile: 'lib/models/client.js',
  joints: [methodJoint('Client', (provider) => provider.Client, 'find', 1)],
  apply(provider, { failedSecrets, identity: { clients } }) {
    const clientOfRecord = new WeakMap<RegisteredClient, InstanceType<Provider['Client']>>();
    const findInLibrary = provider.Client.find.bind(provider.Client);

    async function assertMayAuthenticate(clientId: string): Promise<void> {
      const context = currentContext();
      // The first lookup of a request is for the client that authenticates. Later ones are for
      // other clients.
      if (
        context !== undefined &&
        clientEndpointPaths.includes(context.path) &&
        !presentedClients.has(context.req)
      ) {
        presentedClients.set(context.req, clientId);
        await failedSecrets.assertMayTry(clientId, addressGroupOf(context.req));
      }
    }

    function noteDisabled(record: RegisteredClient | undefined): void {
      const context = record?.enabled === false ? currentContext() : undefined;
      if (context !== undefined) {
        requestsOfDisabled.add(context.req);
      }
    }

    provider.Client.find = async (clientId) => {
      await assertMayAuthenticate(clientId);
      const record = await clients.find(clientId);
      noteDisabled(record);
      const known = record === undefined ? undefined : clientOfRecord.get(record);
      if (known !== undefined) {
        return known;
      }
      const client = await findInLibrary(clientId);
      if (record !== undefined && client !== undefined) {
        clientOfRecord.set(record, client);
      }
      return client;
    };
  },
};
