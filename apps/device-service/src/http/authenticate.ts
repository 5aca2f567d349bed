import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import type { Caller } from './internal-token.ts';
import type { IdentifyCaller } from './verified-token-cache.ts';

/**
 * The internal token of the gateway is the only credential: a caller that bypasses the gateway
 * cannot authenticate.
 *
 * @throws ApiError `unauthorized`; `service_unavailable` if the keys of the gateway are unavailable
 */
export async function authenticate(
  request: IncomingMessage,
  identifyCaller: IdentifyCaller,
): Promise<Caller> {
  const caller = await identifyCaller(readBearerToken(request));
  observedRequest(request).notes.clientId = caller.clientId;
  return caller;
}

/** The gateway checks the scope too. This is a second check. @throws ApiError `access_denied` */
export function assertScope(caller: Caller, scope: string): void {
  if (!caller.scopes.has(scope)) {
    throw new ApiError('access_denied', {
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
    });
  }
}

/** Node silently ignores a second Authorization header, so this function rejects both. */
function readBearerToken(request: IncomingMessage): string {
  const token = /^Bearer +([A-Za-z0-9_.-]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined || hasSecondAuthorization(request)) {
    throw new ApiError('unauthorized', {
      headers: { 'WWW-Authenticate': 'Bearer' },
      reason: 'internal_token_rejected',
    });
  }
  return token;
}

/** Without `headersDistinct`, which copies every header. */
function hasSecondAuthorization({ rawHeaders }: IncomingMessage): boolean {
  let found = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    found += rawHeaders[index]?.toLowerCase() === 'authorization' ? 1 : 0;
  }
  return found > 1;
}
