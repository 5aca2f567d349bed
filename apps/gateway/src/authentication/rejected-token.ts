import { ApiError, type FailureReasonName, failureReasons } from '@gatehouse/errors';
import type { FindTokenKind, TokenKind } from '@gatehouse/identity';
import { type CredentialMistake, explanationOf, unknownTokenMistake } from '@gatehouse/signing';
import { bearerChallenge } from '../messages.ts';

/** 401 for a token that is unknown, expired or revoked. Clients of the platform check `value`. */
const EXPIRED = { text: 'Token expired', value: 'expired' } as const;

/** 401 for a header that contains no token, or one that no token can equal. */
export function malformedToken({ reason, found }: CredentialMistake): ApiError {
  return tokenError(reason, found);
}

/** 401 for a value of Authorization that is not a bearer credential. */
export function otherScheme({ reason, found }: CredentialMistake): ApiError {
  const { fix } = failureReasons[reason];
  // The challenge has no error, because the caller sent no bearer credential (RFC 6750 §3.1).
  return new ApiError('unauthorized', {
    message: `${found} ${fix}`,
    result: explanationOf(reason),
    headers: bearerChallenge(),
    reason,
  });
}

/**
 * Rejects a well-formed token that did not verify, and explains why. Only the holder of a genuine
 * token learns more than the holder of any other text: that it was revoked, or that it belongs in
 * another header.
 *
 * @throws ApiError `unauthorized`
 */
export async function rejectedToken(
  token: string,
  presentedAs: TokenKind,
  findTokenKind: FindTokenKind,
): Promise<never> {
  const mistake = unknownTokenMistake(token);
  if (mistake !== undefined) {
    throw malformedToken(mistake);
  }
  const kind = await findTokenKind(token);
  if (kind === undefined) {
    throw new ApiError('unauthorized', {
      message: 'The token is unknown, expired or revoked.',
      result: EXPIRED,
      headers: bearerChallenge('invalid_token'),
      reason: 'token_unknown',
    });
  }
  if (kind === presentedAs) {
    throw tokenError('token_revoked');
  }
  throw tokenError('token_in_wrong_header');
}

/** 401 for a genuine token that another API accepts. Its holder learns for which one it is. */
export function tokenForOtherResource(resource: string, wanted: string): ApiError {
  return tokenError(
    'token_for_other_resource',
    `The token is for ${resource}, but this operation belongs to ${wanted}.`,
  );
}

/** 401 for a token in the URL, which the strict profile does not accept. */
export function tokenInQuery(): ApiError {
  return tokenError('token_in_query');
}

function tokenError(
  reason: FailureReasonName,
  found: string = failureReasons[reason].cause,
): ApiError {
  const { fix } = failureReasons[reason];
  return new ApiError('unauthorized', {
    message: `${found} ${fix}`,
    result: { ...EXPIRED, ...explanationOf(reason) },
    headers: bearerChallenge('invalid_token'),
    reason,
  });
}
