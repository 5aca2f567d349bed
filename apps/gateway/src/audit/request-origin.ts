import type { IncomingMessage } from 'node:http';
import { addressGroup, observedRequest } from '@gatehouse/http-server';
import type { AuditOrigin, RecordedOrigin } from '@gatehouse/identity';

/** What the gateway does by itself, without a request. */
export const thisGateway: AuditOrigin = { actor: 'gateway' };

/** Where an audited event came from. */
export function requestOrigin(message: IncomingMessage, address: string): RecordedOrigin {
  const requestId = observedRequest(message).id;
  return { ...thisGateway, address, addressGroup: addressGroup(address), requestId };
}
