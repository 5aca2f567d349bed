import type { Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { requestOrigin } from '../audit/request-origin.ts';
import { basicClientId } from '../http/basic-client-id.ts';
import { nameClient } from '../http/name-client.ts';

/**
 * Audits unreadable credentials. A client endpoint rejects them before the provider, whose events
 * audit all other failed authentications.
 */
export function auditedEndpoint(
  { audit, clients }: Pick<Identity, 'audit' | 'clients'>,
  endpoint: RequestHandler,
): RequestHandler {
  return async (request, response, next) => {
    let passed = false;
    await endpoint(request, response, (error?: unknown) => {
      passed = true;
      next(error);
    });
    if (passed) {
      return;
    }
    const { operation = '', code, reason } = observedRequest(request).notes;
    if (code === 'invalid_client') {
      const event = { event: 'client_authentication_failed', endpoint: operation, reason } as const;
      audit.record(event, requestOrigin(request));
    } else {
      void nameClient(request, basicClientId(request.headers.authorization), clients);
    }
  };
}
