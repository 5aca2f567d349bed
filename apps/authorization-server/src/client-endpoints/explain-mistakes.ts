/**
 * Names mistakes that are evident from the request itself: no client authentication, or a required
 * parameter that is in the query or in a body without a type. The reply repeats names of parameters
 * only, never values, so it needs no authentication.
 */
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import { describeReason } from '../http/describe-reason.ts';
import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

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
    return { reason: 'body_type_wrong', description: describeReason('body_type_wrong') };
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
