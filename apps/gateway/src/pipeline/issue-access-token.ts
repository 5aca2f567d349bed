import { ApiError, illegalArgument, serviceUnavailable, successEnvelope } from '@gatehouse/errors';
import type { Identity } from '@gatehouse/identity';
import { jsonHeaders, type Reply } from '../messages.ts';
import { requestOrigin } from './audit.ts';
import type { Admitted } from './exchange.ts';

const DEFAULT_SECONDS = 7200;

/**
 * `POST /api/v1/token` (operation 4 of the specification). Its route accepts only signed requests.
 */
export function createXAccessTokenOperation(dependencies: {
  readonly identity: Pick<Identity, 'xAccessTokens' | 'audit'>;
  readonly accessTokenMaximumSeconds: number;
  readonly now: () => number;
}) {
  const { identity, accessTokenMaximumSeconds, now } = dependencies;
  const { xAccessTokens, audit } = identity;
  return async ({ message, verified, clientAddress }: Admitted): Promise<Reply> => {
    // A missing type counts as JSON: the signature covers the body in either case.
    const { 'content-type': contentType = 'application/json' } = message.headers;
    if (contentType.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json') {
      throw new ApiError('unsupported_media_type', { message: 'Send application/json.' });
    }
    const text = Buffer.from(verified.body?.bytes ?? []).toString('utf8');
    const expires = readLifetime(text, accessTokenMaximumSeconds);
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

/** At most one member, `expires`, without escapes. */
const PLAIN = /^\s*\{\s*(?:"expires"\s*:\s*[-+.0-9eE]+\s*)?\}\s*$/;

/**
 * Reads the lifetime of a token in seconds from `{"expires": seconds}` or `{}`. If it ignored other
 * members, an attacker could send a signed reply of the gateway back as a request (CWE-301).
 *
 * @throws ApiError `illegal_argument`
 */
export function readLifetime(text: string, maximumSeconds: number): number {
  let expires: unknown;
  try {
    ({ expires = DEFAULT_SECONDS } = Object(JSON.parse(text)));
  } catch (cause) {
    throw new ApiError('illegal_argument', { message: 'The body is not JSON.', cause });
  }
  if (!PLAIN.test(text) || !Number.isInteger(expires)) {
    const message = 'must be an integer number of seconds, without escapes or other members';
    throw illegalArgument([{ property: 'expires', message }]);
  }
  const asked = Number(expires);
  // Clients send 0 and -1 for "never", which means the maximum.
  return asked <= 0 ? maximumSeconds : Math.min(asked, maximumSeconds);
}
