import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from './logger.ts';

/** What the request's one log line says about it beyond method, status and duration. Never a secret. */
export interface RequestNotes {
  /** The route's name, never the URL: a path or query may hold a code or a token. */
  operation?: string;
  clientId?: string;
  credential?: string;
  /** The catalogue's or OAuth's error code. */
  code?: string;
  /** Why a request failed inside: for the log, never for the caller. */
  err?: unknown;
}

export interface ObservedRequest {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
  readonly notes: RequestNotes;
}

const observed = new WeakMap<IncomingMessage, ObservedRequest>();

/** The id and notes of a request that came through `observeRequests`. */
export function observedRequest(request: IncomingMessage): ObservedRequest {
  const found = observed.get(request);
  if (found === undefined) {
    throw new Error('This request did not come through observeRequests.');
  }
  return found;
}

/** Gives every request an id, sends it back as `X-Request-Id`, and logs one line when the reply is over. */
export function observeRequests(listener: RequestListener, logger: Logger): RequestListener {
  return (request, response) => {
    const started = performance.now();
    const entry: ObservedRequest = { id: requestId(request), receivedAt: Date.now(), notes: {} };
    observed.set(request, entry);
    response.setHeader('X-Request-Id', entry.id);
    response.once('close', () => {
      logRequest(logger, request, response, entry, performance.now() - started);
    });
    listener(request, response);
  };
}

function logRequest(
  logger: Logger,
  request: IncomingMessage,
  response: ServerResponse,
  entry: ObservedRequest,
  milliseconds: number,
): void {
  // A caller who left before the reply began got no status.
  const status = response.headersSent ? response.statusCode : undefined;
  const line = {
    requestId: entry.id,
    method: request.method,
    status,
    aborted: response.writableFinished ? undefined : true,
    durationMs: Math.round(milliseconds * 10) / 10,
    ...entry.notes,
  };
  const operation = entry.notes.operation ?? 'unmatched';
  const message = `${request.method} ${operation} ${status ?? 'aborted'}`;
  if (entry.notes.err !== undefined) {
    logger.error(line, message);
  } else {
    logger.info(line, message);
  }
}

/** A caller's id is taken only where it is plain, so that it cannot forge log lines or headers. */
function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : randomUUID();
}
