import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { AuditOrigin, RecordedOrigin } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { addressGroupOf } from '../http/address-group-of.ts';

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
