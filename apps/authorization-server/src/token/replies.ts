import type { IncomingMessage } from 'node:http';
import { ApiError, type ErrorCode, failureEnvelope } from '@gatehouse/errors';
import type { ProviderMiddleware } from '../provider/library.ts';
import { contextOf } from '../requests/request-context.ts';

/** RFC 6749 §5.1 and the specification: every reply of a client endpoint, errors included. */
export const replyHeaders = {
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
  'Content-Type': 'application/json;charset=UTF-8',
} as const;

export const challengeClient = 'Basic realm="gatehouse", charset="UTF-8"';

/** Corrects the library's replies where they differ from the specification. */
export function clientEndpointReply(paths: readonly string[]): ProviderMiddleware {
  return async (context, next) => {
    await next();
    if (context.status === 503) {
      context.set('Retry-After', '1');
    }
    if (!paths.includes(context.path)) {
      return;
    }
    if (context.body === '') {
      // RFC 7009 §2.2 gives the reply to a revocation no content, but some clients parse it as JSON.
      context.body = {};
    }
    context.set(replyHeaders);
    if (context.status === 401) {
      context.set('WWW-Authenticate', challengeClient);
    }
  };
}

interface OauthError {
  readonly error: string;
  readonly error_description?: string | undefined;
}

/**
 * The body of a failure before the provider. The platform endpoint adds the members of the
 * envelope.
 */
export function failureText(request: IncomingMessage, status: number, failure: OauthError): string {
  return JSON.stringify(contextOf(request).isPlatform ? inEnvelope(status, failure) : failure);
}

/** Gives the provider's failures at the platform endpoint the members of the envelope as well. */
export const platformReply: ProviderMiddleware = async (context, next) => {
  await next();
  const { body, status } = context;
  if (contextOf(context.req).isPlatform && status >= 400 && isFailure(body)) {
    // Assigning a body must not change the status that was chosen.
    context.body = inEnvelope(status, body);
    context.status = status;
  }
};

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'too_many_requests',
  500: 'internal_server_error',
  503: 'service_unavailable',
};

/**
 * A failure with the members of RFC 6749 §5.2 and those of the envelope, for both kinds of client.
 */
function inEnvelope(status: number, failure: OauthError) {
  const { error_description: message } = failure;
  const code = codes[status] ?? 'illegal_argument';
  const envelope = failureEnvelope(new ApiError(code, message ? { message } : {}), Date.now());
  return { ...failure, ...envelope, status };
}

function isFailure(body: unknown): body is OauthError {
  return typeof body === 'object' && body !== null && 'error' in body;
}
