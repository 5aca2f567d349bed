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

type CredentialHeaders = Record<Kind, string | undefined>;

/** Most headers need no closer look. */
const lengths: ReadonlySet<number> = new Set(
  [
    'x-sign',
    'x-sign-v2',
    'x-nonce',
    'x-client-id',
    'x-timestamp',
    'x-access-token',
    'authorization',
  ].map((name) => name.length),
);

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
  const { 'x-access-token': accessToken, authorization } = headers;
  const tokens = count(accessToken) + count(authorization) + count(queryToken);
  if (tokens + count(headers['x-sign']) + count(headers['x-sign-v2']) > 1) {
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

/** Whether there is anything to verify. */
export function isPresent(credentials: PresentedCredentials): boolean {
  const { signature, accessToken, authorization, queryToken } = credentials;
  return (
    authorization !== undefined ||
    signature !== undefined ||
    accessToken !== undefined ||
    queryToken !== undefined
  );
}

/** Raw headers, because Node keeps the first of two Authorization headers and joins two of any other. */
function readCredentialHeaders(rawHeaders: readonly string[]): CredentialHeaders {
  const found: CredentialHeaders = {
    'x-sign': undefined,
    'x-sign-v2': undefined,
    'x-nonce': undefined,
    'x-client-id': undefined,
    'x-timestamp': undefined,
    'x-access-token': undefined,
    authorization: undefined,
  };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    if (!lengths.has(given.length)) {
      continue;
    }
    const name = given.toLowerCase();
    if (isCredentialHeader(name)) {
      if (found[name] !== undefined) {
        throw name === 'authorization' || name === 'x-access-token'
          ? multipleCredentials()
          : new ApiError('ambiguous_request', { message: 'A signature header was sent twice.' });
      }
      found[name] = rawHeaders[index + 1] ?? '';
    }
  }
  return found;
}

function isCredentialHeader(name: string): name is Kind {
  switch (name) {
    case 'x-sign':
    case 'x-sign-v2':
    case 'x-nonce':
    case 'x-client-id':
    case 'x-timestamp':
    case 'x-access-token':
    case 'authorization':
      return true;
    default:
      return false;
  }
}

function readSignature(headers: CredentialHeaders): PresentedCredentials['signature'] {
  const { 'x-sign': digest, 'x-sign-v2': hmac, 'x-nonce': nonce } = headers;
  const { 'x-client-id': clientId, 'x-timestamp': timestamp } = headers;
  // A nonce alone asks for no signature: it may be a client's own.
  if (
    digest === undefined &&
    hmac === undefined &&
    clientId === undefined &&
    timestamp === undefined
  ) {
    return undefined;
  }
  const version = hmac === undefined ? 1 : 2;
  const sign = version === 2 ? hmac : digest;
  if (!sign || !clientId || !timestamp || (version === 2 && !nonce)) {
    throw new ApiError('missing_signature');
  }
  return { version, clientId, timestamp, sign, nonce: version === 2 ? nonce : undefined };
}

export function multipleCredentials(): ApiError {
  return new ApiError('multiple_credentials', { headers: bearerChallenge('invalid_request') });
}

function count(credential: string | undefined): number {
  return credential === undefined ? 0 : 1;
}
