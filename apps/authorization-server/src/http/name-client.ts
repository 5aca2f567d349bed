import type { IncomingMessage } from 'node:http';
import type { ClientRegistry } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';

/**
 * Adds the presented client to the log line of a failed request if it is registered. The reply does
 * not wait for the lookup, so its time does not reveal whether the client exists.
 */
export function nameClient(
  request: IncomingMessage,
  presentedId: string,
  clients: Pick<ClientRegistry, 'find'>,
): Promise<string | undefined> {
  const observed = observedRequest(request);
  const finding =
    presentedId === ''
      ? Promise.resolve(undefined)
      : clients.find(presentedId).then(
          (client) => client?.clientId,
          () => undefined,
        );
  observed.completing = finding.then((clientId) => {
    if (clientId !== undefined) {
      observed.notes.clientId ??= clientId;
    }
  });
  return finding;
}
