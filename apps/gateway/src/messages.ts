/**
 * The messages between callers and the gateway: names of headers, the body and address of a request,
 * and replies.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { ApiError } from '@gatehouse/errors';
import {
  type AddressMatcher,
  atEndOfTurn,
  hasBody,
  lingerBeforeClose,
  unmappedAddress,
} from '@gatehouse/server';

/** The value of a header in name, value, … with names in lower case. */
export function headerIn(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) {
      return headers[index + 1];
    }
  }
  return undefined;
}

/**
 * @throws ApiError `payload_too_large` if Content-Length exceeds the limit, before any byte is read
 */
export function assertAnnouncedSize(request: IncomingMessage, limitBytes: number): void {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) {
    throw new ApiError('payload_too_large');
  }
}

/**
 * The address of the caller: the peer or, if the peer is a trusted proxy, the nearest address in
 * X-Forwarded-For that is not a trusted proxy. Addresses to the left of it are not trustworthy.
 */
export function clientAddress(request: IncomingMessage, isTrustedProxy: AddressMatcher): string {
  let address = unmappedAddress(request.socket.remoteAddress ?? '');
  if (!isTrustedProxy(address)) {
    return address;
  }
  const chain = String(request.headers['x-forwarded-for'] ?? '')
    .split(',')
    .reverse();
  for (const entry of chain) {
    const next = unmappedAddress(entry.trim());
    if (isIP(next) === 0) {
      return address;
    }
    address = next;
    if (!isTrustedProxy(address)) {
      return address;
    }
  }
  return address;
}

/** A reply to the caller, before it is written. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value, … The pipeline appends the headers of all replies. */
  readonly headers: string[];
  /** Undefined: the reply has no body (204, 304, the reply to a HEAD). */
  readonly body: Buffer | StreamedBody | undefined;
  /** The reply may stay open for long: server-sent events. */
  readonly isOpenEnded?: boolean;
}

/** The body of a reply that is arriving from an upstream. */
export interface StreamedBody {
  /** The Content-Length of the reply, if it has one. */
  readonly announcedLength: string | undefined;
  /** The whole body, if it is already complete. */
  arrived(): Buffer | undefined;
  connect(sink: BodySink): void;
  resume(): void;
  /** Ends the exchange with the upstream. The sink fails with the error. */
  cancel(error: Error): void;
}

/** Receives a body as it arrives. */
export interface BodySink {
  /** Returns false when the body must wait until `resume`. */
  write(chunk: Buffer): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** On every reply: caches must not store it, and browsers must not guess its type. */
export const protectiveHeaders: readonly string[] = [
  ...['Cache-Control', 'no-store'],
  ...['X-Content-Type-Options', 'nosniff'],
];

/** The headers of a reply with JSON that the gateway creates itself. */
export const jsonHeaders = ['Content-Type', 'application/json', ...protectiveHeaders] as const;

/**
 * The `WWW-Authenticate` header (RFC 6750 §3). It has no `error` if the request had no bearer
 * credential: such a caller learns only how to authenticate.
 */
export function bearerChallenge(
  error?:
    | 'invalid_request'
    | 'invalid_token'
    | 'insufficient_scope'
    | 'insufficient_user_authentication',
  more: Readonly<Record<string, string | number | undefined>> = {},
): Record<string, string> {
  const parameters = Object.entries({ realm: 'gatehouse', error, ...more })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${value}"`);
  return { 'WWW-Authenticate': `Bearer ${parameters.join(', ')}` };
}

/**
 * Node joins a head and a body of text, which is cheaper than two buffers. From 7 kB on, the
 * conversion costs more than it saves (bench/gateway).
 */
const JOINED_BYTES = 4 * 1024;

/**
 * Writes a finished reply. If the body ends early, the connection breaks too, so that the caller
 * does not treat a part as the whole.
 */
export function writeReply(
  { status, headers, body, isOpenEnded }: Reply,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (response.destroyed) {
    return;
  }
  // The rest of an unread body must never be parsed as the next request (CWE-444).
  const unread = hasBody(request) && !request.complete;
  if (unread) {
    headers.push('Connection', 'close');
  }
  const whole = Buffer.isBuffer(body) ? body : body?.arrived();
  if (whole !== undefined) {
    headers.push('Content-Length', String(whole.length));
    response.writeHead(status, headers);
    if (unread) {
      response.write(whole);
      void lingerBeforeClose(request).then(() => response.end());
    } else {
      const isJoined = whole.length <= JOINED_BYTES;
      const data = isJoined ? whole.toString('latin1') : whole;
      atEndOfTurn(() => response.end(data, 'latin1'));
    }
  } else if (body === undefined || Buffer.isBuffer(body)) {
    response.writeHead(status, headers);
    response.end();
  } else {
    if (body.announcedLength !== undefined) {
      headers.push('Content-Length', body.announcedLength);
    }
    response.writeHead(status, headers);
    if (isOpenEnded === true) {
      // The first data may arrive much later. The head must not wait for it.
      response.flushHeaders();
    }
    stream(body, response);
  }
}

function stream(body: StreamedBody, response: ServerResponse): void {
  response.on('drain', () => body.resume());
  body.connect({
    write: (chunk) => response.write(chunk),
    end: () => response.end(),
    fail: () => response.destroy(),
  });
}
