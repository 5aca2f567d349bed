import { severalCredentials } from './explained-failure.ts';
import { splitQueryToken } from './query-token.ts';
import { missingSignature, signatureHeaderTwice } from './signature-header-errors.ts';

/** The headers of Method A. */
export interface PresentedSignature {
  readonly version: 1 | 2;
  readonly clientId: string;
  readonly timestamp: string;
  readonly sign: string;
  /** Version 2 only. Its format is checked later. */
  readonly nonce: string | undefined;
}

/** The credentials of a request, before verification. */
export interface PresentedCredentials {
  readonly signature: PresentedSignature | undefined;
  readonly accessToken: string | undefined;
  readonly authorization: string | undefined;
  readonly queryToken: string | undefined;
  /** The received query, without the token. */
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

/** Most headers have another length, so their names are not compared. */
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
 * Collects the credentials of a request and allows at most one kind (RFC 6750 §2). A request with
 * two kinds is rejected even if both are good: two servers might each trust a different one.
 *
 * @throws ApiError `multiple_credentials`, `ambiguous_request` or `missing_signature`
 */
export function presentedCredentials(
  rawHeaders: readonly string[],
  rawQuery: string,
): PresentedCredentials {
  const headers = readCredentialHeaders(rawHeaders);
  const { token: queryToken, rest: query } = splitQueryToken(rawQuery);
  const { 'x-access-token': accessToken, authorization } = headers;
  const tokens = count(accessToken) + count(authorization) + count(queryToken);
  if (tokens + count(headers['x-sign']) + count(headers['x-sign-v2']) > 1) {
    throw severalCredentials(`The request has ${list(headers, queryToken)}.`);
  }
  return {
    signature: readSignature(headers, tokens > 0),
    accessToken,
    authorization,
    queryToken,
    query,
  };
}

/** Whether the request has any credential. */
export function isPresent(credentials: PresentedCredentials): boolean {
  const { signature, accessToken, authorization, queryToken } = credentials;
  return (
    authorization !== undefined ||
    signature !== undefined ||
    accessToken !== undefined ||
    queryToken !== undefined
  );
}

/**
 * Reads the raw headers: of two Authorization headers Node would keep the first, and it would join
 * two of any other.
 */
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
          ? severalCredentials(`The request has ${credentialNames[name]} twice.`)
          : signatureHeaderTwice();
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

function readSignature(
  headers: CredentialHeaders,
  hasToken: boolean,
): PresentedCredentials['signature'] {
  const { 'x-sign': digest, 'x-sign-v2': hmac, 'x-nonce': nonce } = headers;
  const { 'x-client-id': clientId, 'x-timestamp': timestamp } = headers;
  // A nonce alone does not announce a signature: clients may use the header for other purposes.
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
    throw missingSignature(version, headers, hasToken);
  }
  return { version, clientId, timestamp, sign, nonce: version === 2 ? nonce : undefined };
}

const credentialNames = {
  'x-sign': 'X-Sign',
  'x-sign-v2': 'X-Sign-V2',
  'x-access-token': 'X-Access-Token',
  authorization: 'Authorization',
} as const;

function list(headers: CredentialHeaders, queryToken: string | undefined): string {
  const names = Object.entries(credentialNames)
    .filter(([name]) => headers[name as keyof typeof credentialNames] !== undefined)
    .map(([, name]) => name);
  const found = queryToken === undefined ? names : [...names, 'access_token in the query'];
  return `${found.slice(0, -1).join(', ')} and ${found.at(-1)}`;
}

function count(credential: string | undefined): number {
  return credential === undefined ? 0 : 1;
}
