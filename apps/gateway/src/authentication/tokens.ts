/** Verifies an X-Access-Token or a bearer token, or explains why it is rejected. */
import { ApiError, type FailureReasonName, failureReasons } from '@gatehouse/errors';
import type {
  AccessTokenVerifier,
  ClientRegistry,
  FindTokenKind,
  TokenKind,
} from '@gatehouse/identity';
import {
  explanationOf,
  isBearer,
  type PresentedBearer,
  readBearerToken,
  readQueryToken,
  readXAccessToken,
  unknownTokenMistake,
} from '@gatehouse/signing';
import { bearerChallenge } from '../messages.ts';
import {
  type AuthenticationRequest,
  assertAllowedAddress,
  type VerifiedRequest,
} from './verified-request.ts';

interface TokenDependencies {
  readonly verify: AccessTokenVerifier;
  readonly findTokenKind: FindTokenKind;
}

/** Method B: a token that a signed request obtained. Only the header `X-Access-Token` carries it. */
export async function verifyXAccessToken(
  { credential, clientAddress }: AuthenticationRequest,
  value: string,
  { verify, findTokenKind, clients }: TokenDependencies & { readonly clients: ClientRegistry },
): Promise<VerifiedRequest> {
  const read = readXAccessToken(value);
  if ('mistake' in read) {
    throw tokenError(read.mistake);
  }
  const { token: text } = read;
  const principal = await verify(text);
  const client = principal && (await clients.find(principal.clientId));
  if (principal === undefined || client === undefined) {
    return rejectToken(text, 'access-token', findTokenKind);
  }
  assertAllowedAddress(client, clientAddress);
  return { kind: 'access-token', principal, token: { text, verify }, query: credential.query };
}

/**
 * Method C: `Authorization: bearer …` or the query parameter `access_token`, which the strict profile
 * rejects, because tokens in URLs leak into logs and histories (RFC 9700 §4.3.2).
 */
export async function verifyBearerToken(
  { place, value, query }: PresentedBearer,
  { verify, findTokenKind, strict }: TokenDependencies & { readonly strict: boolean },
): Promise<VerifiedRequest> {
  if (place === 'query' && strict) {
    throw tokenError({ reason: 'token_in_query' });
  }
  const read = place === 'query' ? readQueryToken(value) : readBearerToken(value);
  if ('mistake' in read) {
    throw tokenError(read.mistake, place === 'query' || isBearer(value));
  }
  const { token: text } = read;
  const principal = await verify(text);
  if (principal === undefined) {
    return rejectToken(text, 'bearer', findTokenKind);
  }
  const practice = place === 'query' ? 'query_token' : undefined;
  return { kind: 'bearer', principal, token: { text, verify }, query, practice };
}

/** 401 for a token that is unknown, expired or revoked. Clients of the platform check `value`. */
const EXPIRED = { text: 'Token expired', value: 'expired' } as const;

/**
 * Rejects a well-formed token that did not verify, and explains why. Only the holder of a genuine
 * token learns more than the holder of any other text: that it was revoked, or that it belongs in
 * another header.
 *
 * @throws ApiError `unauthorized`
 */
async function rejectToken(
  token: string,
  presentedAs: TokenKind,
  findTokenKind: FindTokenKind,
): Promise<never> {
  const mistake = unknownTokenMistake(token);
  // A revoked access token can be a JWT.
  const isDoubtful = mistake?.reason === 'access_token_is_jwt';
  const genuine = mistake === undefined || isDoubtful ? await findTokenKind(token) : undefined;
  if (mistake !== undefined && genuine === undefined) {
    throw tokenError(mistake);
  }
  if (genuine === undefined) {
    throw new ApiError('unauthorized', {
      message: 'The token is unknown, expired or revoked.',
      result: EXPIRED,
      headers: bearerChallenge('invalid_token'),
      reason: 'token_unknown',
    });
  }
  const { kind, clientId } = genuine;
  const reason = kind === presentedAs ? 'token_revoked' : 'token_in_wrong_header';
  throw tokenError({ reason, clientId });
}

/** 401 for a genuine token that another API accepts. Its holder learns for which one it is. */
export function tokenForOtherResource(resource: string, wanted: string): ApiError {
  const found = `The token is for ${resource}, but this operation belongs to ${wanted}.`;
  return tokenError({ reason: 'token_for_other_resource', found });
}

/**
 * 401 for a token that cannot be valid. The challenge has no error if the caller sent no bearer
 * credential (RFC 6750 §3.1).
 */
function tokenError(
  mistake: {
    readonly reason: FailureReasonName;
    readonly found?: string;
    /** For the log: to whom the token was issued. */
    readonly clientId?: string;
  },
  isBearerCredential = true,
): ApiError {
  const { reason, found = failureReasons[reason].cause, clientId } = mistake;
  return new ApiError('unauthorized', {
    message: `${found} ${failureReasons[reason].fix}`,
    result: { ...(isBearerCredential && EXPIRED), ...explanationOf(reason) },
    headers: bearerChallenge(isBearerCredential ? 'invalid_token' : undefined),
    reason,
    clientId,
  });
}
