import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { AuditOrigin, ClientRegistry, RecordedOrigin } from '@gatehouse/identity';
import { addressGroup, observedRequest } from '@gatehouse/server';
import type { Request } from 'express';

/**
 * The address group that a request counts for. X-Forwarded-For is used as far as `trust proxy`
 * names the proxies that wrote it. If a trusted proxy forwards something that is not an address,
 * the proxy's own address is used.
 */
export function addressGroupOf(request: IncomingMessage): string {
  const { ip } = request as Partial<Request>;
  const peer = request.socket.remoteAddress ?? '';
  return addressGroup(ip !== undefined && isIP(ip) !== 0 ? ip : peer);
}

/** The origin of events without a request. */
export const thisServer: AuditOrigin = { actor: 'authorization-server' };

/** The origin of an audited event. Behind a trusted proxy, Express determines the address. */
export function requestOrigin(
  request: IncomingMessage & { readonly ip?: string | undefined },
): RecordedOrigin {
  const { ip = '', socket } = request;
  // Text that a proxy forwards instead of an address must not enter the audit trail.
  const address = isIP(ip) === 0 ? socket.remoteAddress : ip;
  return {
    ...thisServer,
    address: address?.replace(/^::ffff:(?=\d+\.)/, ''),
    addressGroup: addressGroupOf(request),
    requestId: observedRequest(request).id,
  };
}

/**
 * The client id of Basic credentials, authenticated or not. Empty if the header has none. It may be
 * a secret in the wrong field, so only registered ids may be logged.
 */
export function basicClientId(authorization: string | undefined): string {
  const [, encoded = ''] = /^basic +(\S+)$/i.exec(authorization ?? '') ?? [];
  const [id = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 1);
  try {
    return decodeURIComponent(id.replaceAll('+', '%20'));
  } catch {
    return '';
  }
}

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
