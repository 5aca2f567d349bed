/**
 * Names mistakes that are evident from the request itself: no client authentication, or a required
 * parameter that is in the query or in a body without a type. The reply repeats names of parameters
 * only, never values, so it needs no authentication.
 */
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import type { Context, Middleware } from './errors.ts';

const NO_CLIENT = 'no client authentication mechanism provided';

export const explainMistakes: Middleware = async (context, next) => {
  await next();
  const { body, req } = context;
  if (typeof body !== 'object' || body === null || !('error_description' in body)) {
    return;
  }
  const { notes } = observedRequest(req);
  const said = String(body.error_description);
  if (said === NO_CLIENT) {
    // RFC 6749 §5.2: a request without client authentication is invalid_client. The library reports
    // invalid_request.
    notes.code = 'invalid_client';
    context.body = { ...body, error: 'invalid_client' };
    context.status = 401;
  }
  const hint = hintOf(context, said);
  if (hint !== undefined) {
    const [reason, description] = hint;
    notes.reason = reason;
    context.body = { ...(context.body as object), error_description: description };
  }
};

type Hint = readonly [reason: FailureReasonName, description: string];

/** @param said the library's description, which lists missing parameters */
function hintOf({ req: { headers }, query, oidc }: Context, said: string): Hint | undefined {
  const hasNoClient = said === NO_CLIENT;
  if (!hasNoClient && !said.startsWith('missing required parameter')) {
    return undefined;
  }
  const { 'content-type': type, 'content-length': length = '0' } = headers;
  // The library reads no body without a type.
  if (type === undefined && (length !== '0' || headers['transfer-encoding'] !== undefined)) {
    const { cause, fix } = failureReasons.body_type_wrong;
    return ['body_type_wrong', `${cause} ${fix}`];
  }
  const needed = hasNoClient ? ['client_id'] : said.match(/\w+/g);
  const misplaced = needed?.find((word) => query[word] !== undefined);
  if (misplaced !== undefined) {
    const description = `${misplaced} was sent in the query. Send it in the form body.`;
    return ['parameter_misplaced', description];
  }
  if (!hasNoClient) {
    return undefined;
  }
  const { cause, fix } = failureReasons.client_authentication_malformed;
  const isAsserted = oidc?.body?.client_assertion !== undefined;
  const found = isAsserted ? 'client_assertion is not supported.' : cause;
  return ['client_authentication_malformed', `${found} ${fix}`];
}
