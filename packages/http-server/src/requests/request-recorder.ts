import type { IncomingMessage } from 'node:http';
import { observedRequest } from './observed-request.ts';
import type { RequestLine } from './request-line.ts';
import type { RequestObserver } from './request-metrics.ts';

/** A request for the request log. */
export interface RecordedRequest
  extends Pick<
    RequestLine,
    | 'requestId'
    | 'status'
    | 'aborted'
    | 'clientId'
    | 'credential'
    | 'code'
    | 'reason'
    | 'upstreamMs'
    | 'durationMs'
  > {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly app: string;
  readonly operation: string;
  /** Whether the client proved its identity. */
  readonly verified: boolean;
  readonly keyId: string | undefined;
  readonly verifiedMs: number | undefined;
  readonly addressGroup: string;
  readonly userAgent: string | undefined;
}

/** One of so many successful requests is recorded. */
const SAMPLED_ONE_IN = 100;
const USER_AGENT_CHARACTERS = 200;

/**
 * Records failed requests and a random sample of the others. For every other request, it costs a
 * comparison and a count.
 */
export function createRequestRecorder(dependencies: {
  readonly app: string;
  readonly addressGroupOf: (request: IncomingMessage) => string;
  readonly record: (request: RecordedRequest) => void;
}): RequestObserver {
  const { app, addressGroupOf, record } = dependencies;
  let untilSample = randomInterval();
  return (line, request) => {
    if (line.reason === undefined) {
      untilSample -= 1;
      if (untilSample > 0) {
        return;
      }
      untilSample = randomInterval();
    }
    const { receivedAt, notes } = observedRequest(request);
    record({
      at: receivedAt,
      requestId: line.requestId,
      app,
      operation: line.operation ?? 'unmatched',
      clientId: line.clientId,
      verified:
        line.clientId !== undefined && (notes.verified === true || notes.verifiedMs !== undefined),
      credential: line.credential,
      keyId: notes.keyId,
      status: line.status,
      aborted: line.aborted,
      code: line.code,
      reason: line.reason,
      verifiedMs: notes.verifiedMs && Math.round(notes.verifiedMs * 10) / 10,
      upstreamMs: line.upstreamMs,
      durationMs: line.durationMs,
      addressGroup: addressGroupOf(request),
      userAgent: printableUserAgent(request.headers['user-agent']),
    });
  };
}

/** A fixed interval would always miss the same requests of a caller that alternates. */
function randomInterval(): number {
  return Math.ceil(Math.random() * 2 * SAMPLED_ONE_IN);
}

/**
 * Keeps printable ASCII only: anything else could control the terminal of an operator. Characters
 * that JSON escapes would double the size of the entry.
 */
function printableUserAgent(text: string | undefined): string | undefined {
  return text?.slice(0, USER_AGENT_CHARACTERS).replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '');
}
