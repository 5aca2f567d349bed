import { ApiError, serviceUnavailable, toApiError } from '@gatehouse/errors';
import type { RequestNotes } from '@gatehouse/server';
import { StoreFullError, StoreUnavailableError } from '@gatehouse/store';
import { bearerChallenge, failureReply, type Reply } from '../messages.ts';
import { metadataUrlOf } from '../routes/public-documents.ts';
import { CircuitOpenError } from '../upstream/circuit-breaker.ts';
import type { Exchange, Pipeline } from './exchange.ts';

/** Turns any thrown value into a reply: counts it, notes it for the log and audits it. */
export async function refuse(
  thrown: unknown,
  exchange: Exchange,
  { limits, deviceApi, auditFailure, now }: Pipeline,
): Promise<Reply> {
  const noteAndConvert = (error: unknown) => {
    const isFull = error instanceof StoreFullError;
    exchange.storeFailed ||= error instanceof StoreUnavailableError && !isFull;
    return toFailure(error);
  };
  const counted = countFailure(noteAndConvert(thrown), exchange, limits);
  const error = await counted.catch(noteAndConvert);
  noteFailure(error, exchange.notes, exchange.response.destroyed);
  auditFailure(error, exchange);
  const reply = failureReply(
    withChallenge(error, metadataUrlOf(exchange.route?.resource ?? deviceApi)),
    now(),
  );
  return exchange.message.method === 'HEAD' ? { ...reply, body: undefined } : reply;
}

/** Converts any thrown value to an error of the catalogue. */
export function toFailure(thrown: unknown): ApiError {
  return thrown instanceof StoreUnavailableError
    ? serviceUnavailable(thrown, 'store_unavailable')
    : toApiError(thrown);
}

/**
 * Counts an unverified request against the limit of its address.
 *
 * @returns the error to send: `too_many_requests` if the address exceeds its limit
 */
export async function countFailure(
  error: ApiError,
  exchange: Pick<Exchange, 'verified' | 'clientAddress' | 'credential' | 'appliedLimits'>,
  limits: Pick<Pipeline['limits'], 'countAddress'>,
): Promise<ApiError> {
  const { verified, clientAddress, appliedLimits } = exchange;
  if (verified !== undefined || error.status >= 500 || error.code === 'too_many_requests') {
    return error;
  }
  try {
    await limits.countAddress(clientAddress, exchange.credential.kind !== 'none', appliedLimits);
    return error;
  } catch (overLimit) {
    if (overLimit instanceof ApiError) {
      return overLimit;
    }
    throw overLimit;
  }
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
  const given = error.headers['WWW-Authenticate'];
  const isDouble = error.code === 'multiple_credentials';
  if (given === undefined && !isDouble && error.status !== 401 && error.status !== 403) {
    return error;
  }
  const challenge =
    given ?? bearerChallenge(isDouble ? 'invalid_request' : undefined)['WWW-Authenticate'];
  return new ApiError(error.code, {
    message: error.message,
    result: error.result,
    headers: {
      ...error.headers,
      'WWW-Authenticate': `${challenge}, resource_metadata="${metadataUrl}"`,
    },
    cause: error.cause,
    reason: error.reason,
    finding: error.finding,
    clientId: error.clientId,
  });
}
