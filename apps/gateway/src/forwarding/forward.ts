/**
 * Forwards a verified request to the upstream of its route and returns the reply. header-policy
 * selects the headers, and the internal token carries the identity of the caller. One deadline
 * bounds the whole exchange. If the caller leaves, the exchange ends. Deliberately not here: any
 * trust decision.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import type { ObservedRequest } from '@gatehouse/server';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import { received, sent } from '../http/header-names.ts';
import { protectiveHeaders, type Reply } from '../http/reply.ts';
import { assertAnnouncedSize, hasBody } from '../http/request-body.ts';
import type { Route } from '../routes/route.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { UpstreamReply } from '../upstream/upstream-call.ts';
import { bodyToForward } from './body-to-forward.ts';
import { forwardedHeaders, repliedHeaders } from './header-policy.ts';
import type { InternalTokenIssuer } from './internal-token.ts';
import { noteUpstreamFailure } from './note-upstream-failure.ts';
import { publicLocation } from './public-location.ts';
import { watchCredential } from './watch-credential.ts';

export interface ForwardRequest {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly observed: ObservedRequest;
  readonly route: Route;
  /** The name of the route's upstream. */
  readonly upstream: string;
  readonly verified: VerifiedRequest;
  /** The normalized path. */
  readonly path: string;
  readonly clientAddress: string;
}

/** Throws or rejects with an ApiError. */
export type Forwarder = (request: ForwardRequest) => Promise<Reply>;

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const REDIRECTIONS: ReadonlySet<number> = new Set([300, 301, 302, 303, 305, 307, 308]);
const STATUS_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export function createForwarder(dependencies: {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly issueInternalToken: InternalTokenIssuer;
  readonly publicUrl: string;
}): Forwarder {
  const { upstreams, issueInternalToken } = dependencies;
  const { host: publicHost, protocol } = new URL(dependencies.publicUrl);
  const publicScheme = protocol.slice(0, -1);

  async function exchangeWith(
    upstream: Upstream,
    request: ForwardRequest,
    internalToken: string,
  ): Promise<Reply> {
    const { message, response, route, verified } = request;
    const headers = forwardedHeaders(message.headers, route.requestHeaders, {
      requestId: request.observed.id,
      clientAddress: request.clientAddress,
      publicHost,
      publicScheme,
      internalToken,
      contentType: verified.body?.contentType,
      traceparent: request.observed.trace?.traceparent(),
    });
    const reading = bodyToSend(request);
    // A request without a body does not wait for a turn of the event loop.
    const body = reading instanceof Promise ? await reading : reading;
    // The close event is over if the caller has already left, so nothing would end the exchange.
    if (response.destroyed) {
      throw new Error('The caller left before its request was forwarded.');
    }
    const sentAt = performance.now();
    const target = verified.query === '' ? request.path : `${request.path}?${verified.query}`;
    const exchange = upstream.send({
      method: message.method ?? '',
      target,
      headers,
      body,
      timeoutMilliseconds: route.timeoutMilliseconds,
      streaming: route.streaming,
    });
    request.observed.dependent = exchange;
    let answer: UpstreamReply;
    try {
      answer = await exchange.reply;
    } finally {
      request.observed.notes.upstreamMs = performance.now() - sentAt;
    }
    answer.body.assertIntact();
    if (answer.status >= 400) {
      noteUpstreamFailure(answer, request.observed.notes);
    }
    const reply = toReply(answer, message.method === 'HEAD', (location) =>
      publicLocation(location, {
        target,
        upstreamUrl: upstream.url,
        publicUrl: dependencies.publicUrl,
      }),
    );
    if (route.streaming) {
      watchCredential(verified, route.scope, response);
      request.observed.notes.isOpenEnded = reply.status < 400;
      return { ...reply, isOpenEnded: true };
    }
    return reply;
  }

  return (request) => {
    const { message, route, verified } = request;
    const upstream = upstreams.get(request.upstream);
    if (upstream === undefined) {
      throw new Error(`Route ${route.operation} names an unknown upstream.`);
    }
    assertForwardableBody(message, route);
    const token = issueInternalToken(verified.principal, request.upstream);
    return typeof token === 'string'
      ? exchangeWith(upstream, request, token)
      : token.then((issued) => exchangeWith(upstream, request, issued));
  };
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
  if (!hasBody(message)) {
    return undefined;
  }
  return bodyToForward(message, route.bodyLimitBytes);
}

function toReply(
  reply: UpstreamReply,
  isHead: boolean,
  translate: (location: string) => string | undefined,
): Reply {
  const { status, body } = reply;
  if (status === 401 || status === 407) {
    // The upstream rejected the internal token. A 401 would make the caller discard a good
    // credential.
    body.cancel(new Error('The service rejected the internal token.'));
    throw new ApiError('bad_gateway', {
      cause: new Error(
        `The service answered ${status}. It rejected the internal token. Compare the clocks of both hosts.`,
      ),
      reason: 'upstream_rejected_gateway',
    });
  }
  const headers = repliedHeaders(reply.headers, translate);
  if (
    REDIRECTIONS.has(status) &&
    reply.headers.includes(received.location) &&
    !headers.includes(received.location)
  ) {
    body.cancel(new Error('The service redirected to another origin.'));
    throw new ApiError('bad_gateway', {
      cause: new Error('The service redirected to another origin.'),
      reason: 'upstream_redirected',
    });
  }
  headers.push(...protectiveHeaders);
  // RFC 9110 §8.6 forbids a length in a 204.
  if (isHead && status !== 204 && body.announcedLength !== undefined) {
    headers.push(sent.contentLength, body.announcedLength);
  }
  return { status, headers, body: isHead || STATUS_WITHOUT_BODY.has(status) ? undefined : body };
}
