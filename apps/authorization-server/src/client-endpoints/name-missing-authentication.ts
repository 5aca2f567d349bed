import { observedRequest } from '@gatehouse/http-server';
import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

/** The library's message for a request without a client id. */
export const NO_AUTHENTICATION = 'no client authentication mechanism provided';

/** RFC 6749 §5.2: a request without client authentication is invalid_client. The library reports invalid_request. */
export const nameMissingAuthentication: ProviderMiddleware = async (context, next) => {
  await next();
  const { body } = context;
  if (
    typeof body === 'object' &&
    body !== null &&
    'error_description' in body &&
    body.error_description === NO_AUTHENTICATION
  ) {
    observedRequest(context.req).notes.code = 'invalid_client';
    context.body = { ...body, error: 'invalid_client' };
    context.status = 401;
  }
};
