import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type FailureReasonName, failureReasons, isFailureReason } from '@gatehouse/errors';
import { createRequestLineWriter, type Logger, type RequestLine } from '../telemetry/logger.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import { type AddressMatcher, unmappedAddress } from './addresses.ts';
import type { RequestObserver } from './request-records.ts';

/**
 * Values for the log line of a request, in addition to method, status and duration. Never a secret.
 */
export interface RequestNotes {
  /** The route name, never the URL, because a path or query can contain a code or token. */
  operation?: string;
  /** The method of the request that a proxy asks about, instead of that of its question. */
  method?: string;
  /** Only a registered client, never text that an unauthenticated caller sent as its id. */
  clientId?: string;
  /** The user for whom the client acts, or who signs in. */
  userId?: string | undefined;
  credential?: string;
  /**
   * Whether the client proved its identity without a verification time: with its secret, for
   * example.
   */
  verified?: boolean;
  /** The id of the secure key that verified the request. */
  keyId?: string | undefined;
  /** The error code of the catalogue or of OAuth. */
  code?: string;
  /** Explains the failure in more detail than the code. */
  reason?: FailureReasonName | undefined;
  /** A value that completes the reason. Never text of the caller. */
  finding?: string | undefined;
  /** Time from the start of the request until its credential was verified. */
  verifiedMs?: number;
  /** Time until the head of the upstream's reply arrived. */
  upstreamMs?: number;
  /** The reply is a stream, which the caller may leave at any time. That is no failure. */
  isOpenEnded?: boolean;
  /** Internal reason of a failure, for the log and never for the client. */
  err?: unknown;
}

/** Data that is useful only during the request. */
export interface RequestDependent {
  onRequestClosed(): void;
}

export interface ObservedRequest {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
  readonly notes: RequestNotes;
  /** The time at which the request started, of `performance.now()`. */
  readonly startedAt: number;
  /**
   * Completes the notes of a failure. The log line waits for it, and the reply does not, so that
   * its time reveals nothing.
   */
  completing: Promise<void> | undefined;
  /**
   * Called when the reply ends or the client disconnects. An object instead of a listener or
   * closure, because a closure keeps the data of the request alive: young collections copied 3.7 MB
   * instead of 0.2, and the slowest 1 % of replies of a busy gateway took twice as long.
   */
  dependent: RequestDependent | undefined;
  /** Undefined if the request belongs to no trace. */
  readonly trace: ReturnType<Tracer['startRequest']>;
}

/** Stored on the request, because a WeakMap adds work for the garbage collector. */
const observation = Symbol('observation');

type Observable = IncomingMessage & { [observation]?: ObservedRequest };

/** Returns undefined for a request that did not pass through `observeRequests`. */
export function observationOf(request: IncomingMessage): ObservedRequest | undefined {
  return (request as Observable)[observation];
}

/** Returns id and notes of a request that passed through `observeRequests`. */
export function observedRequest(request: IncomingMessage): ObservedRequest {
  const found = (request as Observable)[observation];
  if (found === undefined) {
    throw new Error('This request did not pass through observeRequests.');
  }
  return found;
}

/** Gives every request an id, returns it as `X-Request-Id`, and logs one line after the reply. */
export function observeRequests(
  listener: RequestListener,
  logger: Logger,
  options: {
    /** The listener writes `X-Request-Id` with its other headers, which costs less. */
    readonly leavesHeaderToListener?: boolean;
    /** Receives the values of the log line, for metrics. */
    readonly observer?: RequestObserver;
    /** Peers whose `X-Forwarded-For` is trusted. Another peer that sends it causes one warning. */
    readonly isTrustedProxy?: AddressMatcher;
    /** Undefined while tracing is off. */
    readonly tracer?: Tracer | undefined;
  } = {},
): RequestListener {
  const writeLine = createRequestLineWriter(logger);
  const { isTrustedProxy, tracer, observer } = options;
  const checkForwarding = isTrustedProxy && createForwardingCheck(isTrustedProxy, logger);

  function report(
    request: IncomingMessage,
    response: ServerResponse,
    entry: ObservedRequest,
    milliseconds: number,
  ): void {
    const line = describe(request, response, entry, milliseconds);
    observer?.(line, request);
    entry.trace?.end(line);
    const { operation = 'unmatched', err } = entry.notes;
    if (err === undefined) {
      writeLine(line);
    } else {
      const message = `${line.method} ${operation} ${line.status ?? 'aborted'}`;
      logger.error({ ...line, aborted: line.aborted || undefined, err }, message);
    }
  }

  return (request, response) => {
    const startedAt = performance.now();
    if (request.headers['x-forwarded-for'] !== undefined) {
      checkForwarding?.(request.socket);
    }
    const entry: ObservedRequest = {
      id: requestId(request),
      receivedAt: Date.now(),
      startedAt,
      notes: {},
      completing: undefined,
      dependent: undefined,
      trace: tracer?.startRequest(request),
    };
    (request as Observable)[observation] = entry;
    if (options.leavesHeaderToListener !== true) {
      response.setHeader('X-Request-Id', entry.id);
    }
    // `close` occurs once. `on` avoids the wrapper of `once`.
    response.on('close', () => {
      entry.dependent?.onRequestClosed();
      entry.dependent = undefined;
      const milliseconds = performance.now() - startedAt;
      if (entry.completing === undefined) {
        report(request, response, entry, milliseconds);
      } else {
        const finish = () => report(request, response, entry, milliseconds);
        entry.completing.then(finish, finish);
      }
    });
    if (entry.trace === undefined) {
      listener(request, response);
    } else {
      entry.trace.run(() => listener(request, response));
    }
  };
}

function describe(
  request: IncomingMessage,
  response: ServerResponse,
  { id, notes }: ObservedRequest,
  milliseconds: number,
): RequestLine {
  // A client that disconnected before the reply got no status.
  const status = response.headersSent ? response.statusCode : undefined;
  const aborted = !response.writableFinished;
  const brokeOff = aborted && (notes.isOpenEnded !== true || status === undefined);
  const failed = brokeOff || notes.code !== undefined || (status ?? 0) >= 400;
  const reason = failed ? failureReasonOf(notes, aborted) : undefined;
  return {
    requestId: id,
    method: notes.method ?? request.method,
    status,
    aborted,
    durationMs: Math.round(milliseconds * 10) / 10,
    upstreamMs: notes.upstreamMs && Math.round(notes.upstreamMs * 10) / 10,
    operation: notes.operation,
    clientId: notes.clientId,
    credential: notes.credential,
    code: notes.code,
    reason,
    stage: reason && failureReasons[reason].stage,
    finding: reason && notes.finding,
  };
}

/**
 * Warns once per process if a peer outside `TRUSTED_PROXIES` sends `X-Forwarded-For`. With a proxy
 * that is not configured, all clients share one address for limits, allow lists and audit trail.
 */
function createForwardingCheck(isTrustedProxy: AddressMatcher, logger: Logger) {
  let hasWarned = false;
  return ({ remoteAddress }: Socket) => {
    const peer = unmappedAddress(remoteAddress ?? '');
    if (!hasWarned && !isTrustedProxy(peer)) {
      hasWarned = true;
      const hint =
        'If this peer is your proxy, add its address to TRUSTED_PROXIES. Otherwise all its callers share one rate limit.';
      logger.warn({ peer }, `Ignored X-Forwarded-For from an untrusted peer. ${hint}`);
    }
  };
}

/**
 * Returns the id of a request for log, audit trail and reply. The client's `X-Request-Id` is used
 * only if it has 8 to 64 characters of [A-Za-z0-9._-], so it cannot forge log lines or headers.
 * Otherwise the id is random.
 */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : randomUUID();
}

/** Returns the reason of a failed request. No failure is without one. */
function failureReasonOf({ reason, code }: RequestNotes, aborted: boolean): FailureReasonName {
  if (reason !== undefined || code === undefined) {
    return reason ?? (aborted ? 'caller_left' : 'unclassified');
  }
  return isFailureReason(code) ? code : 'unclassified';
}
