/** The replies of the client endpoints: headers, errors before the provider, and its own errors. */
import {
  ApiError,
  type ErrorCode,
  type FailureReasonName,
  failureEnvelope,
} from '@gatehouse/errors';
import { lingerBeforeClose, observedRequest } from '@gatehouse/server';
import type { Request, Response } from 'express';
import type { Configuration } from 'oidc-provider';
import type { ProviderMiddleware } from '../provider/library.ts';
import { contextOf } from '../requests/request-context.ts';
import { clientEndpointPaths } from '../requests/routes.ts';

/** RFC 6749 §5.1 and the specification: every reply of a client endpoint, errors included. */
export const replyHeaders = {
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
  'Content-Type': 'application/json;charset=UTF-8',
} as const;

const challengeClient = { 'WWW-Authenticate': 'Basic realm="gatehouse", charset="UTF-8"' };

/** A failure before the provider sees the request: RFC 6749 §5.2 error code and description. */
export interface TransportError {
  readonly status: number;
  /** `invalid_request` if absent. */
  readonly error?: string;
  readonly reason: FailureReasonName;
  readonly description: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a failure, and ends it when the caller has sent the rest of its request. */
export async function writeTransportError(
  request: Request,
  response: Response,
  failure: TransportError,
): Promise<void> {
  const { status, error = 'invalid_request', reason, description, headers } = failure;
  Object.assign(observedRequest(request).notes, { code: error, reason });
  const body = { error, error_description: description };
  const text = JSON.stringify(contextOf(request).isPlatform ? inEnvelope(status, body) : body);
  response.status(status).set({
    ...replyHeaders,
    ...(status === 401 ? challengeClient : {}),
    ...headers,
    // The rest of the body must not be parsed as the next request on this connection (CWE-444).
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(text)),
  });
  response.write(text);
  await lingerBeforeClose(request);
  response.end();
}

/**
 * Corrects the library's replies where they differ from the specification. Failures at the platform
 * endpoint get the members of the envelope as well.
 */
export const clientEndpointReply: ProviderMiddleware = async (context, next) => {
  await next();
  const { body, status } = context;
  if (status === 503) {
    context.set('Retry-After', '1');
  }
  if (!clientEndpointPaths.includes(context.path)) {
    return;
  }
  if (body === '') {
    // RFC 7009 §2.2 gives the reply to a revocation no content, but some clients parse it as JSON.
    context.body = {};
  } else if (contextOf(context.req).isPlatform && status >= 400 && 'error' in Object(body)) {
    // Assigning a body must not change the status that was chosen.
    context.body = inEnvelope(status, Object(body));
    context.status = status;
  }
  context.set(replyHeaders);
  if (status === 401) {
    context.set(challengeClient);
  }
};

/**
 * Called by the provider once it knows the client. The origin of another client is treated as
 * absent: the provider replies without CORS headers, and the browser hides the reply from the page.
 */
export const forgetForeignOrigin: Configuration['clientBasedCORS'] = ({ req }, origin, client) => {
  if (!(Array.isArray(client.corsOrigins) && client.corsOrigins.includes(origin))) {
    delete req.headers.origin;
  }
  return true;
};

/** The library replies with `*` to a request without Origin. This removes it. */
export const removeForeignOrigins: ProviderMiddleware = async (context, next) => {
  await next();
  if (context.req.headers.origin === undefined) {
    context.remove('Access-Control-Allow-Origin');
    context.remove('Access-Control-Expose-Headers');
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
function inEnvelope(status: number, failure: { readonly error_description?: string }) {
  const { error_description: message } = failure;
  const code = codes[status] ?? 'illegal_argument';
  const envelope = failureEnvelope(new ApiError(code, message ? { message } : {}), Date.now());
  return { ...failure, ...envelope, status };
}
