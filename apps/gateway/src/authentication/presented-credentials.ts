import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';
import { bearerChallenge } from './challenge.ts';
import { splitQueryToken } from './query-token.ts';

/** The headers of Method A. */
export interface PresentedSignature {
  readonly version: 1 | 2;
  readonly clientId: string;
  readonly timestamp: string;
  readonly sign: string;
  /** Version 2 only: what it may look like is checked later. */
  readonly nonce: string | undefined;
}

/** What a request presents, before anything of it is verified. */
export interface PresentedCredentials {
  readonly signature: PresentedSignature | undefined;
  readonly accessToken: string | undefined;
  readonly authorization: string | undefined;
  readonly queryToken: string | undefined;
  /** The query as it came, without the token. */
  readonly query: string;
}

type Kind =
  | 'x-sign'
  | 'x-sign-v2'
  | 'x-nonce'
  | 'x-client-id'
  | 'x-timestamp'
  | 'x-access-token'
  | 'authorization';

const credentialHeaders: ReadonlySet<string> = new Set([
  'x-sign',
  'x-sign-v2',
  'x-nonce',
  'x-client-id',
  'x-timestamp',
  'x-access-token',
  'authorization',
]);

/** Most headers need no closer look. */
const lengths: ReadonlySet<number> = new Set([...credentialHeaders].map((name) => name.length));

/** Each of them asks for a signature. A nonce alone does not: it may be a client's own. */
const signatureHeaders = ['x-sign', 'x-sign-v2', 'x-client-id', 'x-timestamp'] as const;

/**
 * Collects the credentials of a request and insists on at most one kind (RFC 6750 §2). A request with two
 * is refused even if both are good: two readers might each believe another one.
 *
 * @throws ApiError `multiple_credentials`, `ambiguous_request` or `missing_signature`
 */
export function presentedCredentials(
  request: IncomingMessage,
  rawQuery: string,
): PresentedCredentials {
  const headers = readCredentialHeaders(request.rawHeaders);
  const { token: queryToken, rest: query } = splitQueryToken(rawQuery);
  const accessToken = headers.get('x-access-token');
  const authorization = headers.get('authorization');
  const tokens = count(accessToken) + count(authorization) + count(queryToken);
  if (tokens + count(headers.get('x-sign')) + count(headers.get('x-sign-v2')) > 1) {
    throw multipleCredentials();
  }
  return {
    signature: readSignature(headers),
    accessToken,
    authorization,
    queryToken,
    query,
  };
}

/** Raw headers, because Node keeps the first of two Authorization headers and joins two of any other. */
function readCredentialHeaders(rawHeaders: readonly string[]): ReadonlyMap<Kind, string> {
  const found = new Map<Kind, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    if (!lengths.has(given.length)) {
      continue;
    }
    const name = given.toLowerCase();
    if (isCredentialHeader(name)) {
      if (found.has(name)) {
        throw name === 'authorization' || name === 'x-access-token'
          ? multipleCredentials()
          : new ApiError('ambiguous_request', { message: 'A signature header was sent twice.' });
      }
      found.set(name, rawHeaders[index + 1] ?? '');
    }
  }
  return found;
}

function isCredentialHeader(name: string): name is Kind {
  return credentialHeaders.has(name);
}

function readSignature(headers: ReadonlyMap<Kind, string>): PresentedCredentials['signature'] {
  if (!signatureHeaders.some((name) => headers.has(name))) {
    return undefined;
  }
  const version = headers.has('x-sign-v2') ? 2 : 1;
  const sign = headers.get(version === 2 ? 'x-sign-v2' : 'x-sign');
  const nonce = version === 2 ? headers.get('x-nonce') : undefined;
  const clientId = headers.get('x-client-id');
  const timestamp = headers.get('x-timestamp');
  if (!sign || !clientId || !timestamp || (version === 2 && !nonce)) {
    throw new ApiError('missing_signature');
  }
  return { version, clientId, timestamp, sign, nonce };
}

export function multipleCredentials(): ApiError {
  return new ApiError('multiple_credentials', { headers: bearerChallenge('invalid_request') });
}

function count(credential: string | undefined): number {
  return credential === undefined ? 0 : 1;
}
