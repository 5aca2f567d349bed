import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from '../logging/logger.ts';
import type { AddressMatcher } from './address-matcher.ts';
import { requestId } from './request-id.ts';
import { createRequestLineWriter, type RequestLine } from './request-line.ts';
import type { RequestObserver } from './request-metrics.ts';
import { createForwardingCheck } from './untrusted-forwarding.ts';

/** What the request's one log line says about it beyond method, status and duration. Never a secret. */
export interface RequestNotes {
  /** The route's name, never the URL: a path or query may hold a code or a token. */
  operation?: string;
  clientId?: string;
  credential?: string;
  /** The catalogue's or OAuth's error code. */
  code?: string;
  /** How long the service behind took, up to the head of its reply. */
  upstreamMs?: number;
  /** Why a request failed inside: for the log, never for the caller. */
  err?: unknown;
}

/** What is of no use without the request. */
export interface RequestDependent {
  onRequestClosed(): void;
}

export interface ObservedRequest {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
  readonly notes: RequestNotes;
  /**
   * Is told when the reply is over or the caller left: cheaper than one more listener on the response. An object,
   * because a closure would hold what surrounds it, and with it all that a request was made of: young collections
   * copied 3.7 MB instead of 0.2, and the slowest hundredth of a busy gateway's replies took twice as long.
   */
  dependent: RequestDependent | undefined;
}

/** On the request itself: a WeakMap would be one more table for the garbage collector to look through. */
const observation = Symbol('observation');

type Observable = IncomingMessage & { [observation]?: ObservedRequest };

/** The id and notes of a request that came through `observeRequests`. */
export function observedRequest(request: IncomingMessage): ObservedRequest {
  const found = (request as Observable)[observation];
  if (found === undefined) {
    throw new Error('This request did not come through observeRequests.');
  }
  return found;
}

export interface ObservationOptions {
  /** The listener writes `X-Request-Id` itself: with the other headers, in one go, it costs less. */
  readonly leavesHeaderToListener?: boolean;
  /** Hears what the log line says, for metrics. */
  readonly observer?: RequestObserver;
  /** Whose `X-Forwarded-For` counts; one warning is logged when another peer sends it. */
  readonly isTrustedProxy?: AddressMatcher;
}

/** Gives every request an id, sends it back as `X-Request-Id`, and logs one line when the reply is over. */
export function observeRequests(
  listener: RequestListener,
  logger: Logger,
  options: ObservationOptions = {},
): RequestListener {
  const writeLine = createRequestLineWriter(logger);
  const { isTrustedProxy } = options;
  const checkForwarding = isTrustedProxy && createForwardingCheck(isTrustedProxy, logger);
  return (request, response) => {
    const started = performance.now();
    checkForwarding?.(request);
    const entry: ObservedRequest = {
      id: requestId(request),
      receivedAt: Date.now(),
      notes: {},
      dependent: undefined,
    };
    (request as Observable)[observation] = entry;
    if (options.leavesHeaderToListener !== true) {
      response.setHeader('X-Request-Id', entry.id);
    }
    // It closes once; `on` spares the wrapper that `once` makes.
    response.on('close', () => {
      entry.dependent?.onRequestClosed();
      entry.dependent = undefined;
      const line = describe(request, response, entry, performance.now() - started);
      options.observer?.(line);
      if (entry.notes.err === undefined) {
        writeLine(line);
      } else {
        const { operation = 'unmatched', err } = entry.notes;
        logger.error(
          { ...line, aborted: line.aborted || undefined, err },
          `${request.method} ${operation} ${line.status ?? 'aborted'}`,
        );
      }
    });
    listener(request, response);
  };
}

function describe(
  request: IncomingMessage,
  response: ServerResponse,
  { id, notes }: ObservedRequest,
  milliseconds: number,
): RequestLine {
  return {
    requestId: id,
    method: request.method,
    // A caller who left before the reply began got no status.
    status: response.headersSent ? response.statusCode : undefined,
    aborted: !response.writableFinished,
    durationMs: tenths(milliseconds),
    upstreamMs: notes.upstreamMs === undefined ? undefined : tenths(notes.upstreamMs),
    operation: notes.operation,
    clientId: notes.clientId,
    credential: notes.credential,
    code: notes.code,
  };
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
