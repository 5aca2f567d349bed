import type { ApiError } from '@gatehouse/errors';
import { decodeForm } from '../version-1-text.ts';
import { explainedFailure, severalCredentials } from './explained-failure.ts';

/** The headers of Method A. */
export interface PresentedSignature {
  readonly version: 1 | 2;
  readonly clientId: string;
  readonly timestamp: string;
  readonly sign: string;
  /** Version 2 only. Its format is checked later. */
  readonly nonce: string | undefined;
}

/** Methods A, B and C of the specification. */
export const credentialKinds = ['signature', 'access-token', 'bearer'] as const;

export type CredentialKind = (typeof credentialKinds)[number];

/** The credential of a request before verification. A request has at most one. */
export type PresentedCredential =
  | {
      readonly kind: 'signature';
      readonly signature: PresentedSignature;
      /** The received query, without a token. */
      readonly query: string;
    }
  | { readonly kind: 'access-token'; readonly value: string; readonly query: string }
  | PresentedBearer
  | { readonly kind: 'none'; readonly query: string };

export interface PresentedBearer {
  readonly kind: 'bearer';
  readonly place: 'header' | 'query';
  readonly value: string;
  readonly query: string;
}

/** The headers of credentials, as their documents write them. */
const headerNames = {
  'x-sign': 'X-Sign',
  'x-sign-v2': 'X-Sign-V2',
  'x-nonce': 'X-Nonce',
  'x-client-id': 'X-Client-Id',
  'x-timestamp': 'X-Timestamp',
  'x-access-token': 'X-Access-Token',
  authorization: 'Authorization',
} as const;

type Kind = keyof typeof headerNames;

type CredentialHeaders = Record<Kind, string | undefined>;

/** Most headers have another length, so their names are not compared. */
const lengths: ReadonlySet<number> = new Set(Object.keys(headerNames).map(({ length }) => length));

/**
 * Finds the credential of a request and allows only one (RFC 6750 §2). A request with
 * two kinds is rejected even if both are good: two servers might each trust a different one.
 *
 * @throws ApiError `multiple_credentials`, `ambiguous_request` or `missing_signature`
 */
export function presentedCredential(
  rawHeaders: readonly string[],
  rawQuery: string,
): PresentedCredential {
  const headers = readCredentialHeaders(rawHeaders);
  const { token: queryToken, rest: query } = splitQueryToken(rawQuery);
  const { 'x-access-token': accessToken, authorization } = headers;
  const tokens = count(accessToken) + count(authorization) + count(queryToken);
  if (tokens + count(headers['x-sign']) + count(headers['x-sign-v2']) > 1) {
    throw severalCredentials(`The request has ${list(headers, queryToken)}.`);
  }
  const signature = readSignature(headers, tokens > 0);
  if (authorization !== undefined) {
    return { kind: 'bearer', place: 'header', value: authorization, query };
  }
  if (signature !== undefined) {
    return { kind: 'signature', signature, query };
  }
  if (accessToken !== undefined) {
    return { kind: 'access-token', value: accessToken, query };
  }
  return queryToken === undefined
    ? { kind: 'none', query }
    : { kind: 'bearer', place: 'query', value: queryToken, query };
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
    const name = (lengths.has(given.length) ? given.toLowerCase() : '') as Kind;
    if (!Object.hasOwn(headerNames, name)) {
      continue;
    }
    if (found[name] !== undefined) {
      throw name === 'authorization' || name === 'x-access-token'
        ? severalCredentials(`The request has ${headerNames[name]} twice.`)
        : explainedFailure('ambiguous_request', {
            causes: ['ambiguous_request'],
            message: 'A signature header was sent twice.',
          });
    }
    found[name] = rawHeaders[index + 1] ?? '';
  }
  return found;
}

function readSignature(
  headers: CredentialHeaders,
  hasToken: boolean,
): PresentedSignature | undefined {
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

/** The headers that contain a credential by themselves. */
const credentialHeaders = ['x-sign', 'x-sign-v2', 'x-access-token', 'authorization'] as const;

function list(headers: CredentialHeaders, queryToken: string | undefined): string {
  const found: string[] = credentialHeaders
    .filter((name) => headers[name] !== undefined)
    .map((name) => headerNames[name]);
  if (queryToken !== undefined) {
    found.push('access_token in the query');
  }
  return `${found.slice(0, -1).join(', ')} and ${found.at(-1)}`;
}

function count(credential: string | undefined): number {
  return credential === undefined ? 0 : 1;
}

const PARAMETER = 'access_token';

/**
 * Removes `access_token` from a query, in any spelling that the upstream would decode to it, so
 * that the token never reaches the upstream (RFC 6750 §5.3). The other parameters stay unchanged.
 *
 * @throws ApiError `multiple_credentials` if the query has it twice
 */
export function splitQueryToken(query: string) {
  // Without an escape, there is only one spelling of the name.
  if (!/[%+]/.test(query) && !query.includes(PARAMETER)) {
    return { token: undefined, rest: query };
  }
  const tokens: string[] = [];
  const rest: string[] = [];
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    const end = equals === -1 ? pair.length : equals;
    if (decodeName(pair.slice(0, end)) === PARAMETER) {
      tokens.push(decodeName(pair.slice(end + 1)));
    } else {
      rest.push(pair);
    }
  }
  if (tokens.length === 0) {
    return { token: undefined, rest: query };
  }
  if (tokens.length > 1) {
    throw severalCredentials('The query has access_token twice.');
  }
  return { token: tokens[0], rest: rest.join('&') };
}

/** Leaves invalid escapes unchanged: a later check of the query rejects them. */
const decodeName = (text: string): string => decodeForm(text) ?? text;

const needed: Readonly<Record<1 | 2, readonly Kind[]>> = {
  1: ['x-client-id', 'x-timestamp', 'x-sign'],
  2: ['x-client-id', 'x-timestamp', 'x-nonce', 'x-sign-v2'],
};
const signatureHeaders = ['x-client-id', 'x-timestamp', 'x-nonce', 'x-sign', 'x-sign-v2'] as const;

/** 401 that names the signature headers that a request lacks, and those that it has. */
function missingSignature(version: 1 | 2, headers: CredentialHeaders, hasToken: boolean): ApiError {
  const namesOf = (of: readonly Kind[]) => of.map((name) => headerNames[name]).join(', ');
  const missing = namesOf(needed[version].filter((name) => !headers[name]));
  const has = namesOf(signatureHeaders.filter((name) => headers[name])) || 'none of them';
  const advice = hasToken ? ' To use the token of the request, remove these headers.' : '';
  return explainedFailure('missing_signature', {
    causes: ['missing_signature'],
    message: `Missing or empty: ${missing}. The request has: ${has}.${advice}`,
  });
}

const CLIENT_ID = /^[\x21-\x7e]{1,128}$/;

/** Whether to look the id up. A caller may put any text of any length into `X-Client-Id`. */
export function isClientId(text: string | string[] | undefined): text is string {
  return typeof text === 'string' && CLIENT_ID.test(text);
}
