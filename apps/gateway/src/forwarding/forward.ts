/**
 * Forwards a verified request to the upstream of its route and returns the reply. header-policy
 * selects the headers, and the internal token carries the identity of the caller. One deadline
 * bounds the whole exchange. If the caller leaves, the exchange ends. Deliberately not here: any
 * trust decision.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, errorCatalogue, isFailureReason } from '@gatehouse/errors';
import type { ObservedRequest, RequestNotes } from '@gatehouse/server';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import {
  assertAnnouncedSize,
  hasBody,
  headerIn,
  protectiveHeaders,
  type Reply,
} from '../messages.ts';
import type { Route } from '../routes/route.ts';
import type { UpgradedConnection, UpstreamReply } from '../upstream/call.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { bodyToForward } from './body-to-forward.ts';
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
  const headersOf = createRequestHeaders(publicUrl);

  function upstreamOf({ operation, upstream = '' }: Route): Upstream {
    const found = upstreams.get(upstream);
    if (found === undefined) {
      throw new Error(`Route ${operation} names an unknown upstream.`);
    }
    return found;
  }

  async function exchangeWith(
    upstream: Upstream,
    request: ForwardRequest,
    internalToken: string,
  ): Promise<Reply> {
    const { message, response, observed, route, verified } = request;
    const headers = headersOf(request, internalToken);
    const reading = bodyToSend(request);
    // A request without a body does not wait for a turn of the event loop.
    const body = reading instanceof Promise ? await reading : reading;
    // The close event is over if the caller has already left, so nothing would end the exchange.
    if (response.destroyed) {
      throw new Error('The caller left before its request was forwarded.');
    }
    const sentAt = performance.now();
    const target = targetOf(request);
    const { timeoutMilliseconds, streaming } = route;
    const method = message.method ?? '';
    const sending = { method, target, headers, body, timeoutMilliseconds, streaming };
    const exchange = upstream.send(sending);
    observed.dependent = exchange;
    let answer: UpstreamReply;
    try {
      answer = await exchange.reply;
    } finally {
      observed.notes.upstreamMs = performance.now() - sentAt;
    }
    answer.body.assertIntact();
    if (answer.status >= 400) {
      noteUpstreamFailure(answer, observed.notes);
    }
    const reply = toReply(answer, method === 'HEAD', (location) =>
      publicLocation(location, { target, upstreamUrl: upstream.url, publicUrl }),
    );
    if (streaming) {
      watchCredential(verified, route.scope, response);
      observed.notes.isOpenEnded = reply.status < 400;
      return { ...reply, isOpenEnded: true };
    }
    return reply;
  }

  return {
    /** Throws or rejects with an ApiError. */
    forward(request: ForwardRequest): Promise<Reply> {
      const { message, route, verified } = request;
      const upstream = upstreamOf(route);
      assertForwardableBody(message, route);
      const token = issueInternalToken(verified, route);
      return typeof token === 'string'
        ? exchangeWith(upstream, request, token)
        : token.then((issued) => exchangeWith(upstream, request, issued));
    },
    /** Opens the WebSocket to the upstream, with an internal token like any request. */
    async openWebSocket(request: ForwardRequest): Promise<UpgradedConnection> {
      const { message, route, verified } = request;
      const upstream = upstreamOf(route);
      const token = await issueInternalToken(verified, route);
      return upstream.upgrade({
        target: targetOf(request),
        headers: [...headersOf(request, token), ...handshakeOf(message.headers)],
        timeoutMilliseconds: route.timeoutMilliseconds,
      });
    },
  };
}

function createRequestHeaders(publicUrl: string) {
  const { host: publicHost, protocol } = new URL(publicUrl);
  const publicScheme = protocol.slice(0, -1);
  return (request: ForwardRequest, internalToken: string): string[] => {
    const { message, route, observed, verified, clientAddress } = request;
    return forwardedHeaders(message.headers, route.requestHeaders, {
      requestId: observed.id,
      clientAddress,
      publicHost,
      publicScheme,
      internalToken,
      contentType: verified.body?.contentType,
      traceparent: observed.trace?.traceparent(),
    });
  };
}

function targetOf({ target: { path }, verified: { query } }: ForwardRequest): string {
  return query === '' ? path : `${path}?${query}`;
}

function assertForwardableBody(message: IncomingMessage, route: Route): void {
  if (!METHODS_WITH_BODY.has(message.method ?? '') && hasBody(message)) {
    throw new ApiError('illegal_argument', {
      message: 'This method takes no body.',
      reason: 'input_not_accepted',
    });
  }
  assertAnnouncedSize(message, route.bodyLimitBytes);
}

function bodyToSend({ message, route, verified }: ForwardRequest) {
  if (verified.body !== undefined) {
    return verified.body.bytes;
  }
  return hasBody(message) ? bodyToForward(message, route.bodyLimitBytes) : undefined;
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
