import { ApiError } from '@gatehouse/errors';
import type { PresentedCredentials } from '@gatehouse/signing';
import { signedPart } from '@gatehouse/signing';
import { bearerChallenge } from '../authentication/challenge.ts';

/**
 * Rejects credentials that the gateway can only check for requests that it forwards itself.
 *
 * @throws ApiError `signed_body_not_verifiable`: the proxy asks without the body, and the gateway
 *   cannot know that there is none. `unauthorized` for a token in the query, which the proxy would
 *   pass on to the service
 */
export function assertVerifiable(
  { signature, queryToken }: PresentedCredentials,
  method: string,
): void {
  if (signature !== undefined && signedPart(method, undefined) !== 'query') {
    throw new ApiError('signed_body_not_verifiable', { headers: bearerChallenge() });
  }
  if (queryToken !== undefined) {
    throw new ApiError('unauthorized', {
      message: 'The token is in the URL. Send it as "Authorization: Bearer".',
      headers: bearerChallenge('invalid_request'),
      reason: 'token_in_query',
    });
  }
}

/**
 * Rejects a version 1 query with a repeated parameter. The signature covers `a=1&a=2` and `a=1,2`
 * as the same text. The gateway forwards one form of it, but the proxy forwards what it received.
 *
 * @param verifiedQuery the form that the gateway would forward
 * @throws ApiError `ambiguous_request`
 */
export function assertSameParameters(receivedQuery: string, verifiedQuery: string): void {
  if (receivedQuery !== verifiedQuery && countPairs(receivedQuery) !== countPairs(verifiedQuery)) {
    throw new ApiError('ambiguous_request', {
      message: 'The signature does not tell repeated parameters apart. Use version 2.',
      reason: 'signed_parameter_repeated',
    });
  }
}

function countPairs(query: string): number {
  return query.split('&').filter((pair) => pair !== '').length;
}
