import type { IncomingMessage } from 'node:http';
import type { ApiError, ErrorCode } from '@gatehouse/errors';
import type { AuditOrigin, Identity, RecordedOrigin } from '@gatehouse/identity';
import { addressGroup, observedRequest } from '@gatehouse/server';
import { isClientId } from '@gatehouse/signing';
import type { Exchange } from './exchange.ts';

/** The origin of events that no request caused. */
export const thisGateway: AuditOrigin = { actor: 'gateway' };

/** The origin of an audited event that a request caused. */
export function requestOrigin(message: IncomingMessage, address: string): RecordedOrigin {
  const requestId = observedRequest(message).id;
  return { ...thisGateway, address, addressGroup: addressGroup(address), requestId };
}

export type AuditFailure = ReturnType<typeof createSignatureAudit>;

const auditedEvents = new Map<ErrorCode, 'signature_refused' | 'request_replayed'>([
  ['invalid_signature', 'signature_refused'],
  ['replayed_request', 'request_replayed'],
]);

/**
 * Records invalid and replayed signatures, and names the client of a rejected signed request in the
 * log. Both name the client only if it is registered, because an unauthenticated caller may send
 * any text as its id.
 */
export function createSignatureAudit({ audit, clients }: Pick<Identity, 'audit' | 'clients'>) {
  /** Called with the error of every rejected request. The reply does not wait for it. */
  return (
    { code, reason }: ApiError,
    { message, clientAddress }: Pick<Exchange, 'message' | 'clientAddress'>,
  ): void => {
    const observed = observedRequest(message);
    const { notes } = observed;
    const record = () => {
      const event = auditedEvents.get(code);
      if (event !== undefined) {
        const { clientId } = notes;
        const origin = requestOrigin(message, clientAddress);
        audit.record({ event, clientId, reason: reason as string | undefined }, origin);
      }
    };
    const presented = message.headers['x-client-id'];
    // Beyond the rate limit, a caller must not cause reads of the store.
    const mayFind = notes.clientId === undefined && code !== 'too_many_requests';
    if (!mayFind || !isClientId(presented)) {
      record();
      return;
    }
    const finding = clients.find(presented).catch(() => undefined);
    observed.completing = finding.then((client) => {
      if (client !== undefined) {
        notes.clientId = client.clientId;
      }
      record();
    });
  };
}
