/**
 * Forwards a verified request to the upstream of its route and returns the reply. header-policy
 * selects the headers, and the internal token carries the identity of the caller. One deadline
 * bounds the whole exchange. If the caller leaves, the exchange ends. Deliberately not here: any
 * trust decision.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { ApiError, errorCatalogue, isFailureReason } from '@gatehouse/errors';
import { hasBody, type ObservedRequest, type RequestNotes, sendContinue } from '@gatehouse/server';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import { assertAnnouncedSize, headerIn, protectiveHeaders, type Reply } from '../messages.ts';
import type { Route } from '../routes/route.ts';
import type { UpgradedConnection, UpstreamReply } from '../upstream/call.ts';
import type { BodyStream, Upstream } from '../upstream/upstream.ts';
import { forwardedHeaders, repliedHeaders } from './header-policy.ts';
import type { InternalTokenIssuer } from './internal-token.ts';
import { handshakeOf, watchCredential } from './open-reply.ts';
import { publicLocation } from './public-location.ts';

/** An admitted request. */
interface ForwardRequest {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly observed: ObservedRequest;
  readonly route: Route;
  readonly verified: VerifiedRequest;
  /** With the normalized path. */
  readonly target: { readonly path: string };
  readonly clientAddress: string;
}

export type Forwarding = ReturnType<typeof createForwarding>;

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const REDIRECTIONS: ReadonlySet<number> = new Set([300, 301, 302, 303, 305, 307, 308]);
const STATUS_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export function createForwarding(dependencies: {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly issueInternalToken: InternalTokenIssuer;
  readonly publicUrl: string;
}) {
  const { upstreams, issueInternalToken, publicUrl } = dependencies;
  const { host: publicHost, protocol } = new URL(publicUrl);
  const publicScheme = protocol.slice(0, -1);

  function upstreamOf({ operation, upstream = '' }: Route): Upstream {
    const found = upstreams.get(upstream);
    if (found === undefined) {
      throw new Error(`Route ${operation} names an unknown upstream.`);
    }
    return found;
  }

  function outgoing(request: ForwardRequest, internalToken: string) {
    const { message, route, observed, verified, clientAddress, target } = request;
    const { query, body } = verified;
    const own = [
      ...['authorization', `Bearer ${internalToken}`, 'x-request-id', observed.id],
      // From the public URL, never from a Host header.
      ...['x-forwarded-proto', publicScheme, 'x-forwarded-host', publicHost],
      ...['x-forwarded-for', clientAddress],
    ];
    return {
      target: query === '' ? target.path : `${target.path}?${query}`,
      headers: forwardedHeaders(own, message.headers, route.requestHeaders, {
        'content-type': body?.contentType,
        traceparent: observed.trace?.traceparent(),
      }),
      timeoutMilliseconds: route.timeoutMilliseconds,
    };
  }

  return {
    /** Rejects with an ApiError. */
    async forward(request: ForwardRequest): Promise<Reply> {
      const { message, response, observed, route, verified } = request;
      const upstream = upstreamOf(route);
      // Neither a request without a body nor a known token waits for a turn of the event loop.
      const reading = bodyOf(request);
      const body = reading instanceof Promise ? await reading : reading;
      const issuing = issueInternalToken(verified, route);
      const token = typeof issuing === 'string' ? issuing : await issuing;
      // The close event is over if the caller has already left, so nothing would end the exchange.
      if (response.destroyed) {
        throw new Error('The caller left before its request was forwarded.');
      }
      const sentAt = performance.now();
      const sent = outgoing(request, token);
      const { method = '' } = message;
      const exchange = upstream.send({ ...sent, method, body, streaming: route.streaming });
      observed.dependent = exchange;
      let answer: UpstreamReply;
      try {
        answer = await exchange.reply;
      } finally {
        observed.notes.upstreamMs = performance.now() - sentAt;
      }
      if (exchange.failure !== undefined) {
        throw exchange.failure;
      }
      if (answer.status >= 400) {
        noteUpstreamFailure(answer, observed.notes);
      }
      const reply = toReply(answer, method === 'HEAD', (location) =>
        publicLocation(location, { target: sent.target, upstreamUrl: upstream.url, publicUrl }),
      );
      if (route.streaming) {
        watchCredential(verified, route, response);
        observed.notes.isOpenEnded = reply.status < 400;
        return { ...reply, isOpenEnded: true };
      }
      return reply;
    },
    /** Opens the WebSocket to the upstream, with an internal token like any request. */
    async openWebSocket(request: ForwardRequest): Promise<UpgradedConnection> {
      const { message, route, verified } = request;
      const upstream = upstreamOf(route);
      const token = await issueInternalToken(verified, route);
      const sent = outgoing(request, token);
      const headers = [...sent.headers, ...handshakeOf(message.headers)];
      return upstream.upgrade({ ...sent, headers });
    },
  };
}

/** @throws ApiError for a body that the method or the limit of the route does not allow */
function bodyOf({ message, route, verified }: ForwardRequest) {
  const isSent = hasBody(message);
  if (isSent && !METHODS_WITH_BODY.has(message.method ?? '')) {
    throw new ApiError('illegal_argument', {
      message: 'This method takes no body.',
      reason: 'input_not_accepted',
    });
  }
  assertAnnouncedSize(message, route.bodyLimitBytes);
  if (verified.body !== undefined) {
    return verified.body.bytes;
  }
  return isSent ? bodyToForward(message, route.bodyLimitBytes) : undefined;
}

/**
 * How much of a body is read before the request gets a connection. Most bodies are complete by
 * then.
 */
const READ_AHEAD_BYTES = 64 * 1024;

/**
 * Reads the body to forward and enforces its limit. A small body is read completely, so that a slow
 * caller does not occupy a connection to the upstream (CWE-400). A larger body becomes a stream. It
 * separates the two sockets, so that the end of the exchange with the upstream does not close the
 * caller's connection before the reply is sent.
 *
 * @throws ApiError `payload_too_large`
 */
async function bodyToForward(
  request: IncomingMessage,
  limitBytes: number,
): Promise<Buffer | BodyStream> {
  let size = 0;
  let isWhole = false;
  const reading = Promise.withResolvers<void>();
  // The caller has left and reads no reply, but the promise must settle.
  const leave = () =>
    reading.reject(new ApiError('illegal_argument', { reason: 'body_incomplete' }));
  const counted = new Transform({
    readableHighWaterMark: READ_AHEAD_BYTES,
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > limitBytes ? new ApiError('payload_too_large') : null, chunk);
      if (size >= READ_AHEAD_BYTES) {
        reading.resolve();
      }
    },
    flush(done) {
      isWhole = size < READ_AHEAD_BYTES;
      request.off('close', leave);
      done();
      reading.resolve();
    },
  });
  // Never removed: after an early answer, an error without a listener would end the process.
  counted.on('error', reading.reject);
  request.once('close', leave);
  sendContinue(request);
  request.pipe(counted);
  await reading.promise;
  if (isWhole) {
    return (counted.read() as Buffer | null) ?? Buffer.alloc(0);
  }
  const announced = request.headers['content-length'];
  return { stream: counted, length: announced === undefined ? undefined : Number(announced) };
}

function toReply(
  { status, headers: given, body }: UpstreamReply,
  isHead: boolean,
  translate: (location: string) => string | undefined,
): Reply {
  const reject = (reason: 'upstream_rejected_gateway' | 'upstream_redirected', message: string) => {
    const cause = new Error(message);
    body.cancel(cause);
    return new ApiError('bad_gateway', { cause, reason });
  };
  if (status === 401 || status === 407) {
    // The upstream rejected the internal token. A 401 would make the caller discard a good
    // credential.
    throw reject(
      'upstream_rejected_gateway',
      `The service answered ${status}. It rejected the internal token. Compare the clocks of both hosts.`,
    );
  }
  const headers = repliedHeaders(given, translate);
  const isHidden = given.includes('location') && !headers.includes('location');
  if (REDIRECTIONS.has(status) && isHidden) {
    throw reject('upstream_redirected', 'The service redirected to another origin.');
  }
  headers.push(...protectiveHeaders);
  // RFC 9110 §8.6 forbids a length in a 204.
  if (isHead && status !== 204 && body.announcedLength !== undefined) {
    headers.push('Content-Length', body.announcedLength);
  }
  return { status, headers, body: isHead || STATUS_WITHOUT_BODY.has(status) ? undefined : body };
}

/**
 * Notes why an upstream rejected a request. The device service sends code and reason in
 * `X-Failure`, which never reaches the caller. Only names of the catalogues are used, because an
 * upstream of a ROUTES_FILE may send any text.
 */
export function noteUpstreamFailure(
  { status, headers }: Pick<UpstreamReply, 'status' | 'headers'>,
  notes: RequestNotes,
): void {
  notes.reason = 'upstream_refused';
  const [code = '', reason = ''] = headerIn(headers, 'x-failure')?.split(' ') ?? [];
  if (isErrorCode(code) && errorCatalogue[code].status === status && isFailureReason(reason)) {
    notes.code = code;
    notes.reason = reason;
  }
}

function isErrorCode(text: string): text is keyof typeof errorCatalogue {
  return Object.hasOwn(errorCatalogue, text);
}
