/**
 * Precedes the endpoints that clients call without a browser: /token, /revoke, /introspect, /par,
 * /device/auth. It enforces the transport rules of RFC 6749 §2.3.1 and §3.2 that the library does
 * not: one method, one form, one credential, no secret in the URL, JSON replies for every `Accept`.
 * Client authentication and the protocol are the provider's.
 */
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import type { Identity } from '@gatehouse/identity';
import { lingerBeforeClose, observedRequest } from '@gatehouse/server';
import type { Request, RequestHandler, Response } from 'express';
import { basicClientId, nameClient, requestOrigin } from '../requests/caller.ts';
import { contextOf } from '../requests/request-context.ts';
import { basicProblem, hasEmptySecret } from './client-mistakes.ts';
import { secretParameters } from './grants.ts';
import { challengeClient, failureText, replyHeaders } from './replies.ts';

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

/** The bodies that an endpoint reads. */
export interface BodyFormat {
  /** If there is only one, Content-Type may be absent. */
  readonly mediaTypes: readonly string[];
  /** The form that the provider reads, or why the body has none. */
  convert(request: Request, body: Buffer): Buffer | TransportError;
}

export const FORM = 'application/x-www-form-urlencoded';

const onlyForms: BodyFormat = { mediaTypes: [FORM], convert: (_request, body) => body };

/** In a URL, these secrets would reach logs and histories (RFC 6749 §2.3.1 forbids it). */
const bodyOnlyParameters = ['client_secret', 'client_assertion', 'token', ...secretParameters];

export function createClientEndpoint(
  { audit, clients }: Pick<Identity, 'audit' | 'clients'>,
  format = onlyForms,
): RequestHandler {
  return async (request, response, next) => {
    if (request.destroyed) {
      // The caller disconnected while the request was counted.
      return;
    }
    request.headers.accept = 'application/json';
    const problem =
      findTransportError(request, format.mediaTypes) ?? (await takeBody(request, format));
    if (problem === undefined) {
      next();
      return;
    }
    void writeTransportError(request, response, problem);
    if (problem.error === 'invalid_client') {
      // The provider's events audit all other failed authentications.
      const { operation: endpoint = '', reason } = observedRequest(request).notes;
      audit.record(
        { event: 'client_authentication_failed', endpoint, reason },
        requestOrigin(request),
      );
    } else {
      void nameClient(request, basicClientId(request.headers.authorization), clients);
    }
  };
}

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

/** Reads the body once, for the fast path and for the provider. */
async function takeBody(
  request: Request,
  { convert }: BodyFormat,
): Promise<TransportError | undefined> {
  let problem: TransportError | undefined = {
    status: 413,
    error: 'invalid_request',
    reason: 'payload_too_large',
    description: 'The body is too large.',
  };
  await readBody(request, (received) => {
    const converted = convert(request, received);
    if (!Buffer.isBuffer(converted)) {
      problem = converted;
      return received;
    }
    problem = undefined;
    const body = withIdOfEmptySecret(request, converted);
    contextOf(request).body = body;
    return body;
  });
  return problem;
}

/** The provider's own limit, after which it stops reading. */
const MAXIMUM_BODY_BYTES = 56 * 1024;

/**
 * Reads the whole body, and puts it back for the provider as `replace` returns it. A stream takes
 * nothing back after `end`, so this happens before anything else runs. The rest of a body over the
 * limit is not read, and `replace` is not called.
 *
 * @throws Error when the caller disconnects before the end of the body
 */
function readBody(request: IncomingMessage, replace: (body: Buffer) => Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = () => {
      request.off('readable', read);
      if (length <= MAXIMUM_BODY_BYTES) {
        const body = Buffer.concat(chunks);
        const replaced = replace(body);
        if (replaced !== body) {
          request.headers['content-length'] = String(replaced.length);
          delete request.headers['transfer-encoding'];
        }
        request.unshift(replaced);
      }
      resolve();
    };
    const read = () => {
      // Without a body, `read` would end the stream.
      const hasBody = announcesBody(request);
      for (let chunk = hasBody && request.read(); chunk; chunk = request.read()) {
        chunks.push(chunk);
        length += chunk.length;
      }
      if (request.complete || length > MAXIMUM_BODY_BYTES) {
        finish();
      }
    };
    request.on('readable', read);
    request.on('error', reject);
    request.on('close', () => reject(new Error('The caller disconnected.')));
    read();
  });
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Some libraries send the id of a public client in HTTP Basic with an empty secret, which RFC 6749
 * §2.3.1 lets clients omit. This function moves the id to the body. The provider then rejects a
 * confidential client, because the request has no secret.
 */
function withIdOfEmptySecret({ headers }: IncomingMessage, body: Buffer): Buffer {
  const { authorization } = headers;
  if (authorization === undefined || !hasEmptySecret(authorization)) {
    return body;
  }
  const id = basicClientId(authorization);
  const { client_id: idInBody, client_secret: secret } = parse(body.toString());
  const prefix = idInBody === undefined ? `client_id=${encodeURIComponent(id)}&` : '';
  // The provider rejects a second id or secret that contradicts the header.
  if ((idInBody ?? id) === id && !secret) {
    delete headers.authorization;
  }
  return Buffer.concat([Buffer.from(prefix), body]);
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

/** Sends a failure, and ends it when the caller has sent the rest of its request. */
export async function writeTransportError(
  request: Request,
  response: Response,
  { status, error, reason, description, headers }: TransportError,
): Promise<void> {
  Object.assign(observedRequest(request).notes, { code: error, reason });
  const text = failureText(request, status, { error, error_description: description });
  response.status(status).set({
    ...replyHeaders,
    ...headers,
    ...(status === 401 ? { 'WWW-Authenticate': challengeClient } : {}),
    // The rest of the body must not be parsed as the next request on this connection (CWE-444).
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(text)),
  });
  response.write(text);
  await lingerBeforeClose(request);
  response.end();
}

function countHeader(request: Request, name: string): number {
  return request.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === name).length;
}
