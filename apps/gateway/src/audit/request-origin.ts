import type { IncomingMessage } from 'node:http';
import type { AuditOrigin, RecordedOrigin } from '@gatehouse/identity';
import { addressGroup, observedRequest } from '@gatehouse/server';

/** The origin of events that no request caused. */
export const thisGateway: AuditOrigin = { actor: 'gateway' };

/** The origin of an audited event that a request caused. */
export function requestOrigin(message: IncomingMessage, address: string): RecordedOrigin {
  const requestId = observedRequest(message).id;
  return { ...thisGateway, address, addressGroup: addressGroup(address), requestId };
}
