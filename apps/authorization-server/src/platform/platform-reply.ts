import { failureBody } from '../http/failure-body.ts';
import { isPlatformRequest } from '../http/platform-requests.ts';
import type { ProviderMiddleware } from '../provider/middleware/provider-middleware.ts';

/** Gives the provider's failures the envelope's members as well. */
export const platformReply: ProviderMiddleware = async (context, next) => {
  await next();
  const { body, status } = context;
  if (isPlatformRequest(context.req) && status >= 400 && isFailure(body)) {
    // Assigning a body must not change the status that was chosen.
    context.body = failureBody(status, body, Date.now());
    context.status = status;
  }
};

function isFailure(body: unknown): body is { error: string; error_description?: string } {
  return typeof body === 'object' && body !== null && 'error' in body;
}
