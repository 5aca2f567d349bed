import type { IncomingMessage } from 'node:http';
import { observedRequest } from '@gatehouse/http-server';
import type { AuditOrigin } from '@gatehouse/identity';

/** What the gateway does by itself, without a request. */
export const thisGateway: AuditOrigin = { actor: 'gateway' };

/** Where an audited event came from. */
export function requestOrigin(message: IncomingMessage, address: string): AuditOrigin {
  return { ...thisGateway, address, requestId: observedRequest(message).id };
}
