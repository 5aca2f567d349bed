import { ApiError, serviceUnavailable, successEnvelope } from '@gatehouse/errors';
import type { AuditTrail, XAccessTokens } from '@gatehouse/identity';
import { requestOrigin } from '../audit/request-origin.ts';
import { received } from '../http/header-names.ts';
import { jsonHeaders } from '../http/reply.ts';
import type { LocalOperation } from '../pipeline/local-operation.ts';
import { type LifetimeLimits, readLifetime } from './read-lifetime.ts';

/**
 * `POST /api/v1/token` (operation 4 of the specification). Its route accepts only signed requests.
 */
export function createXAccessTokenOperation(dependencies: {
  readonly xAccessTokens: XAccessTokens;
  readonly audit: AuditTrail;
  readonly lifetime: LifetimeLimits;
  readonly now: () => number;
}): LocalOperation {
  const { xAccessTokens, audit, lifetime, now } = dependencies;
  return async ({ message, verified, clientAddress }) => {
    if (!isJson(message.headers[received.contentType])) {
      throw new ApiError('unsupported_media_type', {
        message: 'Send application/json.',
      });
    }
    const text = Buffer.from(verified.body?.bytes ?? []).toString('utf8');
    const expires = readLifetime(text, lifetime);
    const { clientId } = verified.principal;
    const { secureKeyId } = verified;
    const token = await xAccessTokens.issue({ clientId, secureKeyId }, expires);
    // Right after a revocation, a not-before also revokes new tokens, for less than two seconds.
    if ((await xAccessTokens.verify(token)) === undefined) {
      throw serviceUnavailable(undefined, 'revocation_pending', 2);
    }
    audit.record(
      { event: 'token_issued', grant: 'signed_request', clientId },
      requestOrigin(message, clientAddress),
    );
    const { timestamp, ...envelope } = successEnvelope(token, now());
    return {
      status: 200,
      headers: [...jsonHeaders],
      body: Buffer.from(JSON.stringify({ ...envelope, expires, timestamp })),
    };
  };
}

/** A missing type counts as JSON: the signature covers the body in either case. */
function isJson(contentType: string | undefined): boolean {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  return mediaType === undefined || mediaType === 'application/json';
}
