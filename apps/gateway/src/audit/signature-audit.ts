import type { IncomingMessage } from 'node:http';
import type { ApiError } from '@gatehouse/api-envelope';
import type { Identity } from '@gatehouse/identity';
import { isClientId } from '../authentication/client-id.ts';
import { received } from '../http/header-names.ts';
import { requestOrigin } from './request-origin.ts';

/** Called with the error of every rejected request. The reply does not wait for it. */
export type AuditFailure = (
  error: ApiError,
  exchange: { readonly message: IncomingMessage; readonly clientAddress: string },
) => void;

/**
 * Records invalid and replayed signatures. The record names the client only if it is registered,
 * because an unauthenticated caller may send any text as its id.
 */
export function createSignatureAudit({
  audit,
  clients,
}: Pick<Identity, 'audit' | 'clients'>): AuditFailure {
  async function findClientId({ headers }: IncomingMessage): Promise<string | undefined> {
    const presented = headers[received.clientId];
    return isClientId(presented) ? (await clients.find(presented))?.clientId : undefined;
  }

  return ({ code }, { message, clientAddress }) => {
    if (code !== 'invalid_signature' && code !== 'replayed_request') {
      return;
    }
    const event = code === 'invalid_signature' ? 'signature_refused' : 'request_replayed';
    const origin = requestOrigin(message, clientAddress);
    const record = (clientId?: string) => audit.record({ event, clientId }, origin);
    findClientId(message).then(record, () => record());
  };
}
