/**
 * Names mistakes that are evident from the request itself: no client authentication, or a required
 * parameter that is in the query or in a body without a type. The reply repeats names of parameters
 * only, never values, so it needs no authentication.
 */

import { isUtf8 } from 'node:buffer';
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import type { ProviderMiddleware } from '../provider/library.ts';

const NO_CLIENT = 'no client authentication mechanism provided';

export const explainMistakes: ProviderMiddleware = async (context, next) => {
  await next();
  const { body, req } = context;
  if (!isFailure(body)) {
    return;
  }
  const { notes } = observedRequest(req);
  const hasNoClient = body.error_description === NO_CLIENT;
  if (hasNoClient) {
    // RFC 6749 §5.2: a request without client authentication is invalid_client. The library reports
    // invalid_request.
    notes.code = 'invalid_client';
    context.body = { ...body, error: 'invalid_client' };
    context.status = 401;
  }
  const hint = hasNoClient
    ? (hintOf(context, 'client_id') ?? hintWithoutClient(context))
    : hintOf(context, body.error_description);
  if (hint !== undefined) {
    notes.reason = hint.reason;
    context.body = { ...(context.body as object), error_description: hint.description };
  }
};

interface Hint {
  readonly reason: FailureReasonName;
  readonly description: string;
}

type Context = Parameters<ProviderMiddleware>[0];

/**
 * Where a missing parameter was sent instead.
 *
 * @param said the library's description, which lists the missing parameters, or one name
 */
function hintOf(context: Context, said: string): Hint | undefined {
  if (said !== 'client_id' && !said.startsWith('missing required parameter')) {
    return undefined;
  }
  if (hasUntypedBody(context)) {
    const { cause, fix } = failureReasons.body_type_wrong;
    return { reason: 'body_type_wrong', description: `${cause} ${fix}` };
  }
  const name = said.match(/\w+/g)?.find((word) => context.query[word] !== undefined);
  return name === undefined
    ? undefined
    : {
        reason: 'parameter_misplaced',
        description: `${name} was sent in the query. Send it in the form body.`,
      };
}

function hintWithoutClient({ oidc }: Context): Hint {
  const reason = 'client_authentication_malformed';
  const { cause, fix } = failureReasons[reason];
  const found =
    oidc?.body?.client_assertion === undefined ? cause : 'client_assertion is not supported.';
  return { reason, description: `${found} ${fix}` };
}

/** The library reads no body without a type. */
function hasUntypedBody({ req: { headers } }: Context): boolean {
  const { 'content-type': type, 'content-length': length = '0' } = headers;
  return type === undefined && (length !== '0' || headers['transfer-encoding'] !== undefined);
}

function isFailure(body: unknown): body is { error: string; error_description: string } {
  return typeof body === 'object' && body !== null && 'error_description' in body;
}

/**
 * Why an Authorization header at a client endpoint is unreadable. RFC 6749 §5.2 defines this as
 * failed client authentication. The library reports `invalid_request`. The problem is evident from
 * the header alone, so naming it tells an attacker nothing.
 */
export function basicProblem(authorization: string): string | undefined {
  const [scheme = '', ...rest] = authorization.trim().split(/ +/);
  if (scheme.toLowerCase() !== 'basic') {
    return 'The Authorization header of a client does not use the scheme Basic.';
  }
  const [encoded = '', ...others] = rest;
  if (others.length > 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    return 'The credentials in the Authorization header are not Base64.';
  }
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) {
    return 'The decoded credentials in the Authorization header are not UTF-8.';
  }
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) {
    return 'The decoded credentials in the Authorization header have no colon.';
  }
  if (colon === 0) {
    return 'The client id in the Authorization header is empty.';
  }
  const halves = [text.slice(0, colon), text.slice(colon + 1)];
  return halves.every(isFormEncoded)
    ? undefined
    : 'The client id or the secret in the Authorization header has an invalid percent-encoding.';
}

/** Whether readable Basic credentials have an id and an empty secret. */
export function hasEmptySecret(authorization: string): boolean {
  const [, encoded = ''] = authorization.trim().split(/ +/);
  return /^[^:]+:$/.test(Buffer.from(encoded, 'base64').toString('utf8'));
}

function isFormEncoded(half: string): boolean {
  try {
    decodeURIComponent(half.replaceAll('+', '%20'));
    return true;
  } catch {
    return false;
  }
}
