import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';
import { observedRequest } from '@gatehouse/http-server';
import type { RequestHandler } from 'express';
import type { Caller } from './internal-token.ts';
import type { IdentifyCaller } from './verified-token-cache.ts';

const callers = new WeakMap<IncomingMessage, Caller>();

/**
 * Stands before every route, so that an unknown one does not say so to a stranger. The gateway's token is
 * the only credential: whoever reaches this port without it, past the gateway, is nobody.
 */
export function authenticate(identifyCaller: IdentifyCaller): RequestHandler {
  return async (request, _response, next) => {
    const caller = await identifyCaller(readBearerToken(request));
    callers.set(request, caller);
    observedRequest(request).notes.clientId = caller.clientId;
    next();
  };
}

/** The caller of a request that came through `authenticate`. */
export function callerOf(request: IncomingMessage): Caller {
  const caller = callers.get(request);
  if (caller === undefined) {
    throw new Error('This request did not come through authenticate.');
  }
  return caller;
}

/** @throws ApiError `access_denied`: the gateway checked already, and this is the second lock */
export function assertScope(caller: Caller, scope: string): void {
  if (!caller.scopes.has(scope)) {
    throw new ApiError('access_denied', {
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
    });
  }
}

/** Node keeps the first of two Authorization headers and forgets the second: both are refused here. */
function readBearerToken(request: IncomingMessage): string {
  const sent = request.headersDistinct.authorization ?? [];
  const token = /^Bearer +([A-Za-z0-9_.-]+)$/i.exec(sent[0] ?? '')?.[1];
  if (token === undefined || sent.length > 1) {
    throw new ApiError('unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  return token;
}
