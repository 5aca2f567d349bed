import { ApiError, illegalArgument, serviceUnavailable, successEnvelope } from '@gatehouse/errors';
import type { Identity } from '@gatehouse/identity';
import { z } from 'zod';
import { jsonHeaders } from '../messages.ts';
import { requestOrigin } from './audit.ts';
import type { LocalOperation } from './exchange.ts';

/**
 * `POST /api/v1/token` (operation 4 of the specification). Its route accepts only signed requests.
 */
export function createXAccessTokenOperation(dependencies: {
  readonly identity: Pick<Identity, 'xAccessTokens' | 'audit'>;
  readonly lifetime: LifetimeLimits;
  readonly now: () => number;
}): LocalOperation {
  const { identity, lifetime, now } = dependencies;
  const { xAccessTokens, audit } = identity;
  return async ({ message, verified, clientAddress }) => {
    if (!isJson(message.headers['content-type'])) {
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

interface LifetimeLimits {
  readonly defaultSeconds: number;
  readonly maximumSeconds: number;
}

const body = z.strictObject({
  // Not z.int(), which rejects numbers above 2^53. A number above the maximum becomes the maximum.
  expires: z
    .number('must be an integer number of seconds')
    .refine(Number.isInteger, 'must be an integer number of seconds')
    .optional(),
});

/** Excludes a second `expires` and one that is spelled with escapes. */
const PLAIN = /^\s*\{\s*(?:"expires"\s*:\s*[-+.0-9eE]+\s*)?\}\s*$/;

/**
 * Reads the lifetime of a token in seconds from `{"expires": seconds}` or `{}`. If it ignored other
 * members, an attacker could send a signed reply of the gateway back as a request (CWE-301).
 *
 * @throws ApiError `illegal_argument`
 */
export function readLifetime(text: string, limits: LifetimeLimits): number {
  const parsed = body.safeParse(parseJson(text));
  if (!parsed.success) {
    throw illegalArgument(
      parsed.error.issues.map(({ path, message }) => ({
        property: path.join('.') || 'body',
        message,
      })),
    );
  }
  if (!PLAIN.test(text)) {
    const problem = { property: 'expires', message: 'must occur once and without escapes' };
    throw illegalArgument([problem]);
  }
  const asked = parsed.data.expires ?? limits.defaultSeconds;
  // Clients send 0 and -1 for "never", which means the maximum.
  return asked <= 0 ? limits.maximumSeconds : Math.min(asked, limits.maximumSeconds);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('illegal_argument', {
      message: 'The body is not JSON.',
      cause,
    });
  }
}
