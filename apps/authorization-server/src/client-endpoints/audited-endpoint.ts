import { observedRequest } from '@gatehouse/http-server';
import type { AuditTrail } from '@gatehouse/identity';
import type { RequestHandler } from 'express';
import { requestOrigin } from '../audit/request-origin.ts';

/**
 * Audits unreadable credentials. A client endpoint rejects them before the provider, whose events audit all other
 * failed authentications.
 */
export function auditedEndpoint(audit: AuditTrail, endpoint: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    let passed = false;
    await endpoint(request, response, (error?: unknown) => {
      passed = true;
      next(error);
    });
    const { notes } = observedRequest(request);
    if (!passed && notes.code === 'invalid_client') {
      audit.record(
        { event: 'client_authentication_failed', endpoint: notes.operation ?? '' },
        requestOrigin(request),
      );
    }
  };
}
