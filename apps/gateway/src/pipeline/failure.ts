import { type ApiError, failureEnvelope, serviceUnavailable, toApiError } from '@gatehouse/errors';
import type { RequestNotes } from '@gatehouse/server';
import { StoreFullError, StoreUnavailableError } from '@gatehouse/store';
import { bearerChallenge, jsonHeaders, type Reply } from '../messages.ts';
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
  let error = noteAndConvert(thrown);
  try {
    await countFailure(error, exchange, limits);
  } catch (failed) {
    error = noteAndConvert(failed);
  }
  noteFailure(error, exchange.notes, exchange.response.destroyed);
  auditFailure(error, exchange);
  const resource = exchange.route?.resource ?? exchange.askedResource ?? deviceApi;
  const metadataUrl = metadataUrlOf(resource);
  const headers = Object.entries(challengedHeaders(error, metadataUrl)).flat();
  const isHead = exchange.message.method === 'HEAD';
  return {
    status: error.status,
    headers: [...jsonHeaders, ...headers],
    body: isHead ? undefined : Buffer.from(JSON.stringify(failureEnvelope(error, now()))),
  };
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
 * @throws ApiError `too_many_requests` if the address exceeds its limit
 */
export async function countFailure(
  { status, code }: ApiError,
  { verified, clientAddress, credential, browserToken, appliedLimits }: Exchange,
  limits: Pick<Pipeline['limits'], 'countAddress'>,
): Promise<void> {
  if (verified === undefined && status < 500 && code !== 'too_many_requests') {
    const hasCredential = credential.kind !== 'none' || browserToken !== undefined;
    await limits.countAddress(clientAddress, hasCredential, appliedLimits);
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
 * The headers of the error, with a challenge on every 401 and 403 (RFC 9110 §15.5.2), and the URL of
 * the resource metadata in every challenge (RFC 9728 §5.1).
 */
export function challengedHeaders(
  { code, status, headers }: ApiError,
  metadataUrl: string,
): Readonly<Record<string, string>> {
  const name = 'WWW-Authenticate';
  const isDouble = code === 'multiple_credentials';
  if (headers[name] === undefined && !isDouble && status !== 401 && status !== 403) {
    return headers;
  }
  const challenge =
    headers[name] ?? bearerChallenge(isDouble ? 'invalid_request' : undefined)[name];
  return { ...headers, [name]: `${challenge}, resource_metadata="${metadataUrl}"` };
}
