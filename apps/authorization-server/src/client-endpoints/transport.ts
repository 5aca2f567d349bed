/**
 * Precedes the endpoints that clients call without a browser: /token, /revoke, /introspect, /par,
 * /device/auth. It enforces the transport rules of RFC 6749 §2.3.1 and §3.2 that the library does
 * not: one method, one form, one credential, no secret in the URL, JSON replies for every `Accept`.
 * Client authentication and the protocol are the provider's.
 */
import { parse } from 'node:querystring';
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import type { Request, RequestHandler, Response } from 'express';
import { basicClientId } from '../http/basic-client-id.ts';
import { failureBody } from '../http/failure-body.ts';
import { isPlatformRequest } from '../http/platform-requests.ts';
import { countBodyBytes, MAXIMUM_BODY_BYTES, readLimitedBody } from '../http/request-body.ts';
import { basicProblem, hasEmptySecret } from './basic-credentials.ts';
import { endAfterRequest } from './end-after-request.ts';
import { replaceBody } from './replace-body.ts';
import { challengeClient, replyHeaders } from './reply.ts';

/**
 * The reply to a request that is rejected before the provider sees it: RFC 6749 §5.2 error code and
 * description.
 */
export interface TransportError {
  readonly status: number;
  readonly error: 'invalid_request' | 'invalid_client' | 'too_many_requests';
  readonly reason: FailureReasonName;
  readonly description: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const bodyTooLarge: TransportError = {
  status: 413,
  error: 'invalid_request',
  reason: 'payload_too_large',
  description: 'The body is too large.',
};

export const FORM = 'application/x-www-form-urlencoded';

/** In a URL, these secrets would reach logs and histories (RFC 6749 §2.3.1 forbids it). */
const bodyOnlyParameters = [
  'client_secret',
  'client_assertion',
  'code',
  'refresh_token',
  'password',
  'token',
  'device_code',
];

export const clientEndpoint: RequestHandler = async (request, response, next) => {
  if (request.destroyed) {
    // The caller disconnected while the request was counted.
    return;
  }
  request.headers.accept = 'application/json';
  const transportError =
    findTransportError(request, [FORM]) ?? (await moveIdOfEmptySecret(request));
  if (transportError !== undefined) {
    writeTransportError(request, response, transportError);
    return;
  }
  countBodyBytes(request);
  next();
};

/**
 * @param mediaTypes the types that the endpoint reads. If there is only one, Content-Type may be
 * absent.
 */
export function findTransportError(
  request: Request,
  mediaTypes: readonly string[],
): TransportError | undefined {
  return (
    checkMethod(request) ??
    checkCredentials(request) ??
    checkUrl(request) ??
    checkBody(request, mediaTypes)
  );
}

/**
 * Some libraries send the id of a public client in HTTP Basic with an empty secret, which RFC 6749
 * §2.3.1 lets clients omit. This function moves the id to the body. The provider then rejects a
 * confidential client, because the request has no secret.
 */
export async function moveIdOfEmptySecret(request: Request): Promise<TransportError | undefined> {
  const { authorization } = request.headers;
  if (authorization === undefined || !hasEmptySecret(authorization)) {
    return undefined;
  }
  const body = await readLimitedBody(request);
  if (body === undefined) {
    return bodyTooLarge;
  }
  const id = basicClientId(authorization);
  const { client_id: idInBody, client_secret: secret } = parse(body.toString());
  const prefix = idInBody === undefined ? `client_id=${encodeURIComponent(id)}&` : '';
  replaceBody(request, Buffer.concat([Buffer.from(prefix), body]));
  // The provider rejects a second id or secret that contradicts the header.
  if ((idInBody ?? id) === id && !secret) {
    delete request.headers.authorization;
  }
  return undefined;
}

function checkMethod(request: Request): TransportError | undefined {
  return request.method === 'POST'
    ? undefined
    : {
        status: 405,
        error: 'invalid_request',
        reason: 'method_not_allowed',
        description: 'This endpoint answers POST only.',
        headers: { Allow: 'POST' },
      };
}

function checkCredentials(request: Request): TransportError | undefined {
  // RFC 9110 §5.3 allows one. Node keeps the first and drops the others silently.
  if (countHeader(request, 'authorization') > 1) {
    return {
      status: 400,
      error: 'invalid_request',
      reason: 'client_authentication_malformed',
      description: 'Send one Authorization header.',
    };
  }
  const { authorization } = request.headers;
  const problem = authorization === undefined ? undefined : basicProblem(authorization);
  if (problem === undefined) {
    return undefined;
  }
  const reason = 'client_authentication_malformed';
  const description = `${problem} ${failureReasons[reason].fix}`;
  return { status: 401, error: 'invalid_client', reason, description };
}

function checkUrl(request: Request): TransportError | undefined {
  if (!request.url.includes('?')) {
    return undefined;
  }
  const { searchParams } = new URL(request.url, 'http://unused.invalid');
  const found = bodyOnlyParameters.find((name) => searchParams.has(name));
  return found === undefined
    ? undefined
    : {
        status: 400,
        error: 'invalid_request',
        reason: 'parameter_misplaced',
        description: `${found} belongs in the body, never in the address.`,
      };
}

function checkBody(request: Request, mediaTypes: readonly string[]): TransportError | undefined {
  const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } =
    request.headers;
  if (encoding.toLowerCase() !== 'identity') {
    return invalidBody(415, 'unsupported_media_type', 'Send the body uncompressed.');
  }
  if (Number(length) > MAXIMUM_BODY_BYTES) {
    const description = `The body is larger than ${MAXIMUM_BODY_BYTES} bytes.`;
    return invalidBody(413, 'payload_too_large', description);
  }
  const defaultType = mediaTypes.length === 1 ? mediaTypes[0] : '';
  const [type = '', ...parameters] = (request.headers['content-type'] ?? defaultType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((each) => each.startsWith('charset='))?.slice(8) ?? 'utf-8';
  if (mediaTypes.includes(type) && /^"?(utf-8|us-ascii)"?$/.test(charset)) {
    return undefined;
  }
  const description = `${foundType(type, mediaTypes)}Send ${mediaTypes.join(' or ')} in UTF-8.`;
  return invalidBody(415, 'body_type_wrong', description);
}

function foundType(type: string, mediaTypes: readonly string[]): string {
  if (type === '') {
    return 'The request has no Content-Type. ';
  }
  const isJson = type === 'application/json' || type.endsWith('+json');
  return isJson && !mediaTypes.includes(type) ? 'The body is JSON. ' : '';
}

function invalidBody(
  status: 413 | 415,
  reason: FailureReasonName,
  description: string,
): TransportError {
  return { status, error: 'invalid_request', reason, description };
}

export function writeTransportError(
  request: Request,
  response: Response,
  transportError: TransportError,
): void {
  const { status, error, reason, description, headers } = transportError;
  const { notes } = observedRequest(request);
  notes.code = error;
  notes.reason = reason;
  response
    .status(status)
    .set({ ...replyHeaders, ...headers })
    // The rest of the body must not be parsed as the next request on this connection (CWE-444).
    .set('Connection', 'close');
  if (status === 401) {
    response.set('WWW-Authenticate', challengeClient);
  }
  const failure = { error, error_description: description };
  const body = isPlatformRequest(request) ? failureBody(status, failure, Date.now()) : failure;
  void endAfterRequest(request, response, JSON.stringify(body));
}

function countHeader(request: Request, name: string): number {
  return request.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === name).length;
}
