/**
 * What stands before the endpoints that clients call without a browser: /token, /revoke, /introspect, /par,
 * /device/auth. The transport rules of RFC 6749 §2.3.1 and §3.2 that the library leaves to its surroundings: one
 * method, one form, one credential, nothing secret in the address, JSON whatever `Accept` says.
 * Not here: client authentication and the protocol itself, which are the provider's.
 */
import { observedRequest } from '@gatehouse/http-server';
import type { Request, RequestHandler, Response } from 'express';
import { failureBody } from '../http/failure-body.ts';
import { isPlatformRequest } from '../http/platform-requests.ts';
import { limitBody, MAXIMUM_BODY_BYTES } from '../http/request-body.ts';
import { isMalformedBasic } from './basic-credentials.ts';
import { endAfterRequest } from './end-after-request.ts';
import { challengeClient, replyHeaders } from './reply.ts';

/** A refusal before the provider sees the request: RFC 6749 §5.2 error code and description. */
export interface Refusal {
  readonly status: number;
  readonly error: 'invalid_request' | 'invalid_client' | 'too_many_requests';
  readonly description: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const FORM = 'application/x-www-form-urlencoded';

/** In these, a secret would end up in logs and histories (RFC 6749 §2.3.1: must not be in the URI). */
const bodyOnlyParameters = [
  'client_secret',
  'client_assertion',
  'code',
  'refresh_token',
  'password',
  'token',
  'device_code',
];

export const clientEndpoint: RequestHandler = (request, response, next) => {
  if (request.destroyed) {
    // The caller left while the request was counted: there is no body to read and nobody to answer.
    return;
  }
  request.headers.accept = 'application/json';
  const refusal = findRefusal(request, [FORM]);
  if (refusal !== undefined) {
    writeRefusal(request, response, refusal);
    return;
  }
  limitBody(request);
  next();
};

/** @param mediaTypes what the endpoint reads; where it is the form alone, that may go unsaid */
export function findRefusal(request: Request, mediaTypes: readonly string[]): Refusal | undefined {
  return (
    refuseMethod(request) ??
    refuseCredentials(request) ??
    refuseAddress(request) ??
    refuseBody(request, mediaTypes)
  );
}

function refuseMethod(request: Request): Refusal | undefined {
  return request.method === 'POST'
    ? undefined
    : {
        status: 405,
        error: 'invalid_request',
        description: 'This endpoint answers POST only.',
        headers: { Allow: 'POST' },
      };
}

function refuseCredentials(request: Request): Refusal | undefined {
  // Node keeps the first of two and drops the other silently: RFC 9110 §5.3 allows one.
  if (countHeader(request, 'authorization') > 1) {
    return { status: 400, error: 'invalid_request', description: 'Send one Authorization header.' };
  }
  const { authorization } = request.headers;
  return authorization !== undefined && isMalformedBasic(authorization)
    ? {
        status: 401,
        error: 'invalid_client',
        description: 'The Authorization header holds no readable Basic credentials.',
      }
    : undefined;
}

function refuseAddress(request: Request): Refusal | undefined {
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
        description: `${found} belongs in the body, never in the address.`,
      };
}

function refuseBody(request: Request, mediaTypes: readonly string[]): Refusal | undefined {
  const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } =
    request.headers;
  if (encoding.toLowerCase() !== 'identity') {
    return { status: 415, error: 'invalid_request', description: 'Send the body uncompressed.' };
  }
  if (Number(length) > MAXIMUM_BODY_BYTES) {
    return {
      status: 413,
      error: 'invalid_request',
      description: `The body is larger than ${MAXIMUM_BODY_BYTES} bytes.`,
    };
  }
  const unsaid = mediaTypes.length === 1 ? mediaTypes[0] : '';
  const [type = '', ...parameters] = (request.headers['content-type'] ?? unsaid ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((each) => each.startsWith('charset='))?.slice(8) ?? 'utf-8';
  return mediaTypes.includes(type) && /^"?(utf-8|us-ascii)"?$/.test(charset)
    ? undefined
    : {
        status: 415,
        error: 'invalid_request',
        description: `Send ${mediaTypes.join(' or ')} in UTF-8.`,
      };
}

export function writeRefusal(request: Request, response: Response, refusal: Refusal): void {
  const { status, error, description, headers } = refusal;
  observedRequest(request).notes.code = error;
  response
    .status(status)
    .set({ ...replyHeaders, ...headers })
    // What was not read must not be taken for the next request on this connection (CWE-444).
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
