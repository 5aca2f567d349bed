import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';
import { observedRequest } from '@gatehouse/http-server';
import type { RequestHandler } from 'express';
import type { Caller } from './internal-token.ts';
import type { IdentifyCaller } from './verified-token-cache.ts';

const callers = new WeakMap<IncomingMessage, Caller>();

/**
 * Precedes every route, so that a caller without a token learns nothing about routes. The internal
 * token of the gateway is the only credential: a caller that bypasses the gateway cannot
 * authenticate.
 */
export function authenticate(identifyCaller: IdentifyCaller): RequestHandler {
  return async (request, _response, next) => {
    const caller = await identifyCaller(readBearerToken(request));
    callers.set(request, caller);
    observedRequest(request).notes.clientId = caller.clientId;
    next();
  };
}

export function callerOf(request: IncomingMessage): Caller {
  const caller = callers.get(request);
  if (caller === undefined) {
    throw new Error('authenticate did not handle this request.');
  }
  return caller;
}

/** The gateway checks the scope too. This is a second check. @throws ApiError `access_denied` */
export function assertScope(caller: Caller, scope: string): void {
  if (!caller.scopes.has(scope)) {
    throw new ApiError('access_denied', {
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
      reason: 'scope_missing',
    });
  }
}

/** Node silently ignores a second Authorization header, so this function rejects both. */
function readBearerToken(request: IncomingMessage): string {
  const sent = request.headersDistinct.authorization ?? [];
  const token = /^Bearer +([A-Za-z0-9_.-]+)$/i.exec(sent[0] ?? '')?.[1];
  if (token === undefined || sent.length > 1) {
    throw new ApiError('unauthorized', {
      headers: { 'WWW-Authenticate': 'Bearer' },
      reason: 'internal_token_missing',
    });
  }
  return token;
}
