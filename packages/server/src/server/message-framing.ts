/**
 * The one check of where a message begins and ends, and for whom it is (CWE-444), and how long a
 * server reads a body.
 *
 * `serve` calls `toOriginForm` and the guard for every request. Each server calls `messageProblem`
 * and rejects the request with its own error envelope.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, type FailureReasonName } from '@gatehouse/errors';

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i;
/** A name or an address, with or without a port: no user information, and no empty name. */
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?$/;
const HIGHEST_PORT = 65_535;

/** @param property the part of the message, such as a header */
const problem = (reason: FailureReasonName, property: string, message: string) => ({
  reason,
  property,
  message,
});

/**
 * Returns why two servers could read a message differently. The connection must end after the reply,
 * because the start of the next request is unclear.
 */
export function messageProblem(request: IncomingMessage) {
  const { headers, httpVersion } = request;
  const encoding = headers['transfer-encoding'];
  const message = encoding === undefined ? undefined : encodingProblem(encoding, httpVersion);
  if (message !== undefined) {
    return problem('framing_ambiguous', 'Transfer-Encoding', message);
  }
  // The servers do not use Host, but an upstream might trust it.
  if (headers.host !== undefined && !isHost(headers.host)) {
    return problem('http_invalid', 'Host', 'must be a name or an address, with or without a port');
  }
  const isKnownVersion = httpVersion === '1.1' || httpVersion === '1.0';
  return isKnownVersion ? undefined : problem('http_invalid', 'HTTP version', 'must be 1.1 or 1.0');
}

/**
 * Rejects a message that two servers could read differently.
 *
 * @throws ApiError `illegal_argument`, which also closes the connection
 */
export function assertClearMessage(request: IncomingMessage): void {
  const found = messageProblem(request);
  if (found !== undefined) {
    throw rejectedMessage(found);
  }
}

export function rejectedMessage({ reason, property, message }: ReturnType<typeof problem>) {
  return new ApiError('illegal_argument', {
    message: `${property}: ${message}`,
    result: [{ property, message }],
    headers: { Connection: 'close' },
    reason,
  });
}

/**
 * Returns why the end of a request body is ambiguous, or undefined. Node accepts `gzip, chunked`
 * without decoding it. Node also reads chunks in an HTTP/1.0 request, which a proxy can treat as
 * the start of the next request (RFC 9112 §6.1).
 */
function encodingProblem(encoding: string, httpVersion: string): string | undefined {
  if (httpVersion !== '1.1') {
    return 'needs HTTP/1.1';
  }
  return encoding.trim().toLowerCase() === 'chunked' ? undefined : 'must be chunked';
}

/**
 * Keeps data after a request with ambiguous framing from the listener. Node continues to parse
 * after a reply with `Connection: close`, and emits further requests.
 */
export function createFramingGuard() {
  const lastRequests = new WeakMap<Socket, IncomingMessage>();
  /**
   * Returns false for a request after an ambiguous one, because it can be a part of its body. An
   * ambiguous request ends its connection after the reply.
   */
  return (request: IncomingMessage, response?: ServerResponse): boolean => {
    const last = lastRequests.get(request.socket);
    if (last !== undefined) {
      return last === request;
    }
    // With an ignored `Upgrade`, Node drops bytes that arrive together with the end of the
    // request. The next request could then begin in the middle of another one.
    const { upgrade, 'transfer-encoding': encoding } = request.headers;
    const isAmbiguous =
      upgrade !== undefined ||
      (encoding !== undefined && encodingProblem(encoding, request.httpVersion) !== undefined);
    if (isAmbiguous && response !== undefined) {
      lastRequests.set(request.socket, request);
      response.shouldKeepAlive = false;
    }
    return true;
  };
}

/**
 * Replaces a target in absolute form by its path and query, and `Host` by its authority (RFC 9112
 * §3.2.2). Routes, signatures and replies then see one target, whichever form the client sent.
 *
 * @returns false if the target is not valid for an origin server, or if `Host` is missing or
 * repeated, so the request must be rejected
 */
export function toOriginForm(request: IncomingMessage): boolean {
  if (hostProblem(request) !== undefined) {
    return false;
  }
  const { url = '' } = request;
  if (url.startsWith('/') || url === '*') {
    return true;
  }
  const [, authority = '', rest = ''] = ABSOLUTE_FORM.exec(url) ?? [];
  if (!isHost(authority)) {
    return false;
  }
  request.headers.host = authority;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  return true;
}

/**
 * Returns why the `Host` of a request is missing or ambiguous, or undefined (RFC 9112 §3.2). Of two,
 * Node keeps the first without an error, and a proxy could use the second. HTTP/1.0 requires none.
 */
export function hostProblem(request: IncomingMessage): string | undefined {
  const { headers, httpVersion, rawHeaders } = request;
  if (headers.host === undefined) {
    return httpVersion === '1.0' ? undefined : 'A request in HTTP/1.1 needs a Host header.';
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') {
      hosts += 1;
    }
  }
  return hosts > 1 ? 'The Host header was sent twice.' : undefined;
}

/** Returns whether a text is a valid value of `Host`, or authority of a URL. */
function isHost(text: string): boolean {
  const [whole, port = '0'] = HOST.exec(text) ?? [];
  return whole !== undefined && Number(port) <= HIGHEST_PORT;
}

/** Requests whose client sends the body only after `100 Continue`. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/**
 * Requests the body if the client waits for it (RFC 9110 §10.1.1). Node would always do so
 * immediately.
 */
export function sendContinue(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/** Whether the request has a body (RFC 9112 §6.3). */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Time until a server closes a connection whose peer may still send data. */
export const LINGER_MILLISECONDS = 1000;
/** Above the usual body limit, because a proxy turns a reset during its upload into a 502. */
const LINGER_BYTES = 2 * 1024 * 1024;

/**
 * Reads and discards data for a short time. An immediate close makes the system reset the
 * connection, and the reset can overtake the reply (RFC 9112 §9.6).
 */
export async function lingerBeforeClose(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed || !hasBody(request)) {
    return;
  }
  let received = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, LINGER_MILLISECONDS);
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > LINGER_BYTES) {
      resolve();
    }
  });
  request.once('close', resolve).once('end', resolve).resume();
  await promise;
  clearTimeout(timer);
}
