import type { IncomingMessage } from 'node:http';
import type { ApiError } from '@gatehouse/errors';
import type { AuditOrigin, Identity, RecordedOrigin } from '@gatehouse/identity';
import { addressGroup, observedRequest } from '@gatehouse/server';
import { isClientId } from '@gatehouse/signing';

/** The origin of events that no request caused. */
export const thisGateway: AuditOrigin = { actor: 'gateway' };

/** The origin of an audited event that a request caused. */
export function requestOrigin(message: IncomingMessage, address: string): RecordedOrigin {
  const requestId = observedRequest(message).id;
  return { ...thisGateway, address, addressGroup: addressGroup(address), requestId };
}

/** Called with the error of every rejected request. The reply does not wait for it. */
export type AuditFailure = (
  error: ApiError,
  exchange: { readonly message: IncomingMessage; readonly clientAddress: string },
) => void;

const auditedEvents = {
  invalid_signature: 'signature_refused',
  replayed_request: 'request_replayed',
} as const;

/**
 * Records invalid and replayed signatures, and names the client of a rejected signed request in the
 * log. Both name the client only if it is registered, because an unauthenticated caller may send
 * any text as its id.
 */
export function createSignatureAudit({
  audit,
  clients,
}: Pick<Identity, 'audit' | 'clients'>): AuditFailure {
  return ({ code, reason }, { message, clientAddress }) => {
    const observed = observedRequest(message);
    const { notes } = observed;
    const record = () => {
      if (isAudited(code)) {
        const { clientId } = notes;
        const event = auditedEvents[code];
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

function isAudited(code: string): code is keyof typeof auditedEvents {
  return Object.hasOwn(auditedEvents, code);
}
