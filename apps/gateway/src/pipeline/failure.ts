import { ApiError, serviceUnavailable, toApiError } from '@gatehouse/api-envelope';
import type { RequestNotes } from '@gatehouse/http-server';
import { StoreUnavailableError } from '@gatehouse/store';
import { bearerChallenge } from '../authentication/challenge.ts';
import { CircuitOpenError } from '../upstream/circuit-open-error.ts';

/** Whatever was thrown, as the catalogue has it. */
export function toFailure(thrown: unknown): ApiError {
  return thrown instanceof StoreUnavailableError ? serviceUnavailable(thrown) : toApiError(thrown);
}

export function noteFailure(error: ApiError, notes: RequestNotes, callerIsGone: boolean): void {
  notes.code = error.code;
  // A caller that left is no fault of ours.
  if (error.status >= 500 && !callerIsGone && !(error.cause instanceof CircuitOpenError)) {
    notes.err = error.cause ?? error;
  }
}

/**
 * 401 and 403 always say how to authenticate (RFC 9110 §15.5.2), and every challenge where to ask for a token
 * (RFC 9728 §5.1).
 */
export function withChallenge(error: ApiError, metadataUrl: string): ApiError {
  const given = error.headers['WWW-Authenticate'];
  if (given === undefined && error.status !== 401 && error.status !== 403) {
    return error;
  }
  const challenge = given ?? bearerChallenge()['WWW-Authenticate'];
  return new ApiError(error.code, {
    message: error.message,
    result: error.result,
    headers: {
      ...error.headers,
      'WWW-Authenticate': `${challenge}, resource_metadata="${metadataUrl}"`,
    },
    cause: error.cause,
  });
}
