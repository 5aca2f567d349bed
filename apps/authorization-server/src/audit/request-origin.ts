import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { observedRequest } from '@gatehouse/http-server';
import type { AuditOrigin, RecordedOrigin } from '@gatehouse/identity';
import { addressGroupOf } from '../http/address-group-of.ts';

/** What the server does by itself, without a request. */
export const thisServer: AuditOrigin = { actor: 'authorization-server' };

/** Where an audited event came from. Behind a trusted proxy, Express has found the address out. */
export function requestOrigin(
  request: IncomingMessage & { readonly ip?: string | undefined },
): RecordedOrigin {
  const { ip = '', socket } = request;
  // Whatever a proxy passes on that is no address would put a stranger's words into the trail.
  const address = isIP(ip) === 0 ? socket.remoteAddress : ip;
  return {
    ...thisServer,
    address: address?.replace(/^::ffff:(?=\d+\.)/, ''),
    addressGroup: addressGroupOf(request),
    requestId: observedRequest(request).id,
  };
}
