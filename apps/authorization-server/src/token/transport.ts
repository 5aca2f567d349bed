/**
 * Precedes the endpoints that clients call without a browser: /token, /revoke, /introspect, /par,
 * /device/auth. It enforces the transport rules of RFC 6749 §2.3.1 and §3.2 that the library does
 * not: one method, one form, one credential, no secret in the URL, JSON replies for every `Accept`.
 * Client authentication and the protocol are the provider's.
 */
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import { failureReasons } from '@gatehouse/errors';
import { grantFacts, grantNames, type Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { Request, RequestHandler } from 'express';
import { basicClientId, nameClient, readBasic, recordEvent } from '../requests/caller.ts';
import { type TransportError, writeTransportError } from './replies.ts';

/** The bodies that an endpoint reads. */
export interface BodyFormat {
  /** If there is only one, Content-Type may be absent. */
  readonly mediaTypes: readonly string[];
  /** The form that the provider reads, or why the body has none. */
  convert(request: Request, body: Buffer): Buffer | TransportError;
}

export const FORM = 'application/x-www-form-urlencoded';

const onlyForms: BodyFormat = { mediaTypes: [FORM], convert: (_request, body) => body };

/** The provider's own limit, after which it stops reading. */
const MAXIMUM_BODY_BYTES = 56 * 1024;

/** In a URL, these secrets would reach logs and histories (RFC 6749 §2.3.1 forbids it). */
const bodyOnlyParameters = [
  ...['client_secret', 'client_assertion', 'token'],
  ...grantNames.flatMap((name) => grantFacts(name).secrets ?? []),
];

export function createClientEndpoint(
  { audit, clients }: Pick<Identity, 'audit' | 'clients'>,
  format = onlyForms,
): RequestHandler {
  return async (request, response, next) => {
    request.headers.accept = 'application/json';
    const problem =
      findTransportError(request, format.mediaTypes) ?? (await convertBody(request, format));
    if (problem === undefined) {
      next();
      return;
    }
    void writeTransportError(request, response, problem);
    if (problem.error === 'invalid_client') {
      // The provider's events audit all other failed authentications.
      const { operation: endpoint = '', reason } = observedRequest(request).notes;
      const event = 'client_authentication_failed';
      recordEvent(request, { event, endpoint, reason }, { audit });
    } else {
      void nameClient(request, basicClientId(request.headers.authorization), clients);
    }
  };
}

export function findTransportError(
  request: Request,
  mediaTypes: readonly string[],
): TransportError | undefined {
  if (request.method !== 'POST') {
    const description = 'This endpoint answers POST only.';
    const headers = { Allow: 'POST' };
    return { status: 405, reason: 'method_not_allowed', description, headers };
  }
  return checkCredentials(request) ?? checkUrl(request) ?? checkBody(request, mediaTypes);
}

async function convertBody(
  request: Request,
  { convert }: BodyFormat,
): Promise<TransportError | undefined> {
  const received = await peekBody(request, MAXIMUM_BODY_BYTES);
  if (received === undefined) {
    return { status: 413, reason: 'payload_too_large', description: 'The body is too large.' };
  }
  const converted = convert(request, received);
  if (!Buffer.isBuffer(converted)) {
    return converted;
  }
  const body = withIdOfEmptySecret(request, converted);
  if (body !== received) {
    request.read();
    request.unshift(body);
    request.headers['content-length'] = String(body.length);
    delete request.headers['transfer-encoding'];
  }
  return undefined;
}

/**
 * Reads the whole body, and puts it back for the next reader. A stream takes nothing back after
 * `end`, so it happens in the same turn. The rest of a body over the limit is not read.
 *
 * @returns undefined for a body over the limit
 * @throws Error when the caller disconnects before the end of the body
 */
export function peekBody(request: IncomingMessage, maximum: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const { headers } = request;
    const hasBody =
      headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    const chunks: Buffer[] = [];
    let length = 0;
    const read = () => {
      // Without a body, `read` would end the stream.
      for (let chunk = hasBody && request.read(); chunk; chunk = request.read()) {
        chunks.push(chunk);
        length += chunk.length;
      }
      if (!request.complete && length <= maximum) {
        return;
      }
      request.off('readable', read).off('error', fail).off('close', fail);
      const body = Buffer.concat(chunks);
      if (length <= maximum) {
        request.unshift(body);
      }
      resolve(length <= maximum ? body : undefined);
    };
    const fail = () => reject(new Error('The caller disconnected.'));
    request.on('readable', read).on('error', fail).on('close', fail);
    if (request.destroyed) {
      // While the request was counted.
      fail();
    } else {
      read();
    }
  });
}

/**
 * Some libraries send the id of a public client in HTTP Basic with an empty secret, which RFC 6749
 * §2.3.1 lets clients omit. This function moves the id to the body. The provider then rejects a
 * confidential client, because the request has no secret.
 */
function withIdOfEmptySecret({ headers }: IncomingMessage, body: Buffer): Buffer {
  const read = readBasic(headers.authorization ?? '');
  if (typeof read === 'string' || read.secret !== '') {
    return body;
  }
  const { client_id: idInBody, client_secret: secret } = parse(body.toString());
  const prefix = idInBody === undefined ? `client_id=${encodeURIComponent(read.id)}&` : '';
  // The provider rejects a second id or secret that contradicts the header.
  if ((idInBody ?? read.id) === read.id && !secret) {
    delete headers.authorization;
  }
  return Buffer.concat([Buffer.from(prefix), body]);
}

function checkCredentials(request: Request): TransportError | undefined {
  const { authorization } = request.headers;
  const reason = 'client_authentication_malformed';
  const names = request.rawHeaders.filter((_name, i) => i % 2 === 0);
  // RFC 9110 §5.3 allows one. Node keeps the first and drops the others silently.
  if (names.filter((name) => name.toLowerCase() === 'authorization').length > 1) {
    return { status: 400, reason, description: 'Send one Authorization header.' };
  }
  const read = authorization === undefined ? undefined : readBasic(authorization);
  const description = `${read} ${failureReasons[reason].fix}`;
  return typeof read === 'string'
    ? { status: 401, error: 'invalid_client', reason, description }
    : undefined;
}

function checkUrl({ url }: Request): TransportError | undefined {
  const { searchParams } = new URL(url, 'http://unused.invalid');
  const found = bodyOnlyParameters.find((name) => searchParams.has(name));
  const description = `${found} belongs in the body, never in the address.`;
  return found === undefined
    ? undefined
    : { status: 400, reason: 'parameter_misplaced', description };
}

function checkBody(
  { headers }: Request,
  mediaTypes: readonly string[],
): TransportError | undefined {
  const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } = headers;
  if (encoding.toLowerCase() !== 'identity') {
    const description = 'Send the body uncompressed.';
    return { status: 415, reason: 'unsupported_media_type', description };
  }
  if (Number(length) > MAXIMUM_BODY_BYTES) {
    const description = `The body is larger than ${MAXIMUM_BODY_BYTES} bytes.`;
    return { status: 413, reason: 'payload_too_large', description };
  }
  const defaultType = mediaTypes.length === 1 ? mediaTypes[0] : '';
  const [type = '', ...parameters] = (headers['content-type'] ?? defaultType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((each) => each.startsWith('charset='))?.slice(8) ?? 'utf-8';
  if (mediaTypes.includes(type) && /^"?(utf-8|us-ascii)"?$/.test(charset)) {
    return undefined;
  }
  const isForeignJson = !mediaTypes.includes(type) && /[/+]json$/.test(type);
  const found = type === '' ? 'The request has no Content-Type. ' : '';
  const description = `${isForeignJson ? 'The body is JSON. ' : found}Send ${mediaTypes.join(' or ')} in UTF-8.`;
  return { status: 415, reason: 'body_type_wrong', description };
}
