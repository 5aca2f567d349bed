/**
 * Names mistakes that are evident from the request itself: credentials in two places, or a required
 * parameter that is in the query, in a body without a type, or under a similar name. The reply
 * repeats names of parameters only, never values, so it needs no authentication.
 */
import type { FailureReasonName } from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import type { ProviderMiddleware } from '../provider/library.ts';
import { describeReason } from '../provider/reasons/describe-reason.ts';
import { findMisplaced } from './misplaced-parameters.ts';

const evident: ReadonlySet<FailureReasonName> = new Set([
  'client_authenticated_twice',
  'client_id_differs',
  'client_authentication_missing',
  'client_assertion_unsupported',
]);

const absences: ReadonlySet<FailureReasonName> = new Set([
  'client_authentication_missing',
  'parameter_missing',
]);

export const explainMistakes: ProviderMiddleware = async (context, next) => {
  await next();
  const { body, req } = context;
  const { notes } = observedRequest(req);
  if (notes.reason === undefined || !isFailure(body)) {
    return;
  }
  const isAbsent = notes.reason === 'client_authentication_missing';
  if (isAbsent || notes.reason === 'client_assertion_unsupported') {
    // RFC 6749 §5.2: a request without client authentication is invalid_client. The library reports
    // invalid_request.
    notes.code = 'invalid_client';
    context.body = { ...body, error: 'invalid_client' };
    context.status = 401;
  }
  const missing = isAbsent ? 'client_id' : body.error_description;
  const misplaced = absences.has(notes.reason) ? findMisplaced(context, missing) : undefined;
  const description =
    misplaced?.description ??
    (evident.has(notes.reason) ? describeReason(notes.reason) : undefined);
  if (description !== undefined) {
    notes.reason = misplaced?.reason ?? notes.reason;
    context.body = { ...(context.body as object), error_description: description };
  }
};

function isFailure(body: unknown): body is { error: string; error_description: string } {
  return typeof body === 'object' && body !== null && 'error_description' in body;
}
