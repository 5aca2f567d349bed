import { type FailureReasonName, failureReasons } from '@gatehouse/errors';

/** A token as its header presents it, or the mistake in that header. */
export type PresentedToken = { readonly token: string } | { readonly mistake: CredentialMistake };

export interface CredentialMistake {
  readonly reason: FailureReasonName;
  /** What the header contains, for the caller that sent it. Never quotes a token. */
  readonly found: string;
}

/** The scheme in any case, then exactly one space (RFC 6750 §2.1). */
const BEARER = /^bearer (\S+)$/i;
const BEARER_SCHEME = /^bearer(?!\S)/i;

/** token68 (RFC 9110 §11.2). Every token of Gatehouse matches; other texts are not looked up. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const MAXIMUM_TOKEN_LENGTH = 512;
/** Access tokens of some resources are JWTs (RFC 9068). */
const MAXIMUM_JWT_LENGTH = 4096;

const JWT = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/;
const QUOTED = /^["'`]|["'`]$/;
const PLACEHOLDER =
  /^(?:undefined|null|nil|none|true|false|\[object \w+\]|<.*>|\{\{?\w+\}?\}|\$.*|%.*%|(?:your[_-]?)?(?:access[_-]?)?token)$/i;

/** Only these are quoted. Any other first word may be the token itself. */
const SCHEMES = [
  ...['Basic', 'Digest', 'Token', 'JWT', 'OAuth', 'MAC', 'DPoP', 'HMAC', 'Hawk', 'ApiKey'],
  ...['Negotiate', 'Signature', 'AWS4-HMAC-SHA256'],
];

/** Whether the value of Authorization has the scheme Bearer. */
export function isBearer(authorization: string): boolean {
  return BEARER_SCHEME.test(authorization);
}

/** Reads the value of Authorization. */
export function readBearerToken(authorization: string): PresentedToken {
  const token = BEARER.exec(authorization)?.[1];
  return token !== undefined && isBearerToken(token)
    ? { token }
    : { mistake: authorizationMistake(authorization.trim()) };
}

/** Reads the value of X-Access-Token. */
export function readXAccessToken(value: string): PresentedToken {
  if (isTokenText(value)) {
    return { token: value };
  }
  if (value === '') {
    return { mistake: mistake('token_missing') };
  }
  return BEARER_SCHEME.test(value)
    ? { mistake: mistake('token_malformed', 'X-Access-Token begins with a scheme.') }
    : { mistake: tokenMistake(value) };
}

/** Reads the value of the query parameter `access_token`. */
export function readQueryToken(value: string): PresentedToken {
  return isBearerToken(value) ? { token: value } : { mistake: tokenMistake(value) };
}

/** The mistake in a token that is in the right place and well-formed, but that no store knows. */
export function unknownTokenMistake(token: string): CredentialMistake | undefined {
  if (PLACEHOLDER.test(token)) {
    return mistake('token_missing');
  }
  return JWT.test(token) ? mistake('access_token_is_jwt') : undefined;
}

const isBearerToken = (text: string): boolean =>
  isTokenText(text) || (text.length <= MAXIMUM_JWT_LENGTH && JWT.test(text));

function isTokenText(text: string): boolean {
  return text.length <= MAXIMUM_TOKEN_LENGTH && TOKEN.test(text);
}

function authorizationMistake(value: string): CredentialMistake {
  if (value === '' || /^bearer[:=]?$/i.test(value)) {
    return mistake('token_missing');
  }
  if (/^bearer(?:[:=]|\s{2}|[^\S ]|\s+bearer\b)/i.test(value)) {
    return mistake('bearer_malformed');
  }
  if (BEARER_SCHEME.test(value)) {
    return tokenMistake(value.slice('bearer '.length));
  }
  const [first = ''] = value.split(/[\s:]/, 1);
  const scheme = SCHEMES.find((name) => name.toLowerCase() === first.toLowerCase());
  if (scheme !== undefined) {
    return mistake('bearer_scheme_wrong', `Authorization uses the scheme ${scheme}.`);
  }
  return mistake(first === value ? 'bearer_malformed' : 'bearer_scheme_wrong');
}

function tokenMistake(text: string): CredentialMistake {
  if (PLACEHOLDER.test(text)) {
    return mistake('token_missing');
  }
  if (JWT.test(text)) {
    return mistake('access_token_is_jwt');
  }
  if (text.startsWith('{')) {
    const found = 'The token is JSON, such as an error reply of the token endpoint.';
    return mistake('token_malformed', found);
  }
  if (QUOTED.test(text)) {
    return mistake('token_malformed', 'The token is in quotation marks.');
  }
  if (text.length > MAXIMUM_TOKEN_LENGTH) {
    const found = `The token has ${text.length} characters. The longest token has ${MAXIMUM_TOKEN_LENGTH}.`;
    return mistake('token_malformed', found);
  }
  return mistake('token_malformed', /\s/.test(text) ? 'The token contains a space.' : undefined);
}

function mistake(
  reason: FailureReasonName,
  found: string = failureReasons[reason].cause,
): CredentialMistake {
  return { reason, found };
}

/** The headers of credentials, and names that callers use by mistake. */
const similarNames = {
  'Authorization: Bearer': [
    ...['Access-Token', 'Access_Token', 'Api-Key', 'Auth', 'Auth-Token', 'Authentication'],
    ...['Bearer', 'Token', 'X-Api-Key', 'X-Auth-Token', 'X-Authorization', 'X-Token'],
  ],
  'X-Access-Token': ['X_Access_Token', 'X-AccessToken', 'XAccessToken'],
  'X-Sign': ['Sign', 'Signature', 'X-Signature', 'X_Sign', 'XSign'],
};

/** By their names in lower case. */
const similarHeaders = new Map(
  Object.entries(similarNames).flatMap(([meant, names]) =>
    names.map((name) => [name.toLowerCase(), { name, meant }] as const),
  ),
);

/**
 * Looks for a misnamed credential in a request without one: a header that no server reads, but whose
 * name resembles that of a credential.
 */
export function similarHeader(rawHeaders: readonly string[]) {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const found = similarHeaders.get((rawHeaders[index] ?? '').toLowerCase());
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}
