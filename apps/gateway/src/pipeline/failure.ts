import { ApiError, serviceUnavailable, toApiError } from '@gatehouse/errors';
import type { RequestNotes } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import { bearerChallenge } from '../authentication/challenge.ts';
import { sent } from '../http/header-names.ts';
import { CircuitOpenError } from '../upstream/circuit-open-error.ts';

/** Converts any thrown value to an error of the catalogue. */
export function toFailure(thrown: unknown): ApiError {
  return thrown instanceof StoreUnavailableError
    ? serviceUnavailable(thrown, 'store_unavailable')
    : toApiError(thrown);
}

export function noteFailure(error: ApiError, notes: RequestNotes, hasCallerLeft: boolean): void {
  notes.code = error.code;
  notes.reason = hasCallerLeft && error.status >= 500 ? 'caller_left' : error.reason;
  notes.finding = error.finding;
  if (error.clientId !== undefined) {
    notes.clientId ??= error.clientId;
  }
  // If the caller has left, the failure is not an error of the gateway.
  if (error.status >= 500 && !hasCallerLeft && !(error.cause instanceof CircuitOpenError)) {
    notes.err = error.cause ?? error;
  }
}

/**
 * Adds a challenge to every 401 and 403 (RFC 9110 §15.5.2), and to every challenge the URL of the
 * resource metadata (RFC 9728 §5.1).
 */
export function withChallenge(error: ApiError, metadataUrl: string): ApiError {
  const given = error.headers[sent.challenge];
  const isDouble = error.code === 'multiple_credentials';
  if (given === undefined && !isDouble && error.status !== 401 && error.status !== 403) {
    return error;
  }
  const challenge =
    given ?? bearerChallenge(isDouble ? 'invalid_request' : undefined)[sent.challenge];
  return new ApiError(error.code, {
    message: error.message,
    result: error.result,
    headers: {
      ...error.headers,
      [sent.challenge]: `${challenge}, resource_metadata="${metadataUrl}"`,
    },
    cause: error.cause,
    reason: error.reason,
    finding: error.finding,
    clientId: error.clientId,
  });
}
