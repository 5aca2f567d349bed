/** What becomes of the line of a request: metrics, and entries of the request log. */
import type { IncomingMessage } from 'node:http';
import type { RequestLine } from '../telemetry/logger.ts';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import { addressGroup, unmappedAddress } from './addresses.ts';
import { observedRequest } from './observed-request.ts';

/** Called once for each request, after the reply or a disconnect. */
export type RequestObserver = (line: RequestLine, request: IncomingMessage) => void;

const OUTCOMES = ['success', 'refused', 'failed', 'aborted'] as const;
/** Label value for replies without a code. */
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10] as const;

/**
 * @param labels the allowed values: the names of the route table and `unmatched`, the kinds of
 *   credential, and the error codes of the app. Other values count as `other`
 */
export function createRequestMetrics(
  registry: MetricsRegistry,
  labels: Readonly<Record<'operations' | 'credentials' | 'codes', readonly string[]>>,
): (line: RequestLine) => void {
  const { operations: operation } = labels;
  const requests = registry.counter({
    name: 'gatehouse_requests_total',
    help: 'Requests that have ended, with a reply or because the client disconnected.',
    labels: {
      operation,
      credential: ['none', ...labels.credentials],
      outcome: OUTCOMES,
      code: [...STATUS_CLASSES, ...labels.codes],
    },
  });
  const durations = registry.histogram({
    name: 'gatehouse_request_duration_seconds',
    help: 'Duration from the request headers to the end of the reply.',
    labels: { operation },
    buckets: DURATION_BUCKETS_SECONDS,
  });
  return ({ operation = 'unmatched', credential = 'none', code, status, aborted, durationMs }) => {
    const outcome = aborted ? 'aborted' : outcomeOf(status, code);
    const shownCode = code ?? STATUS_CLASSES[Math.floor((status ?? 0) / 100)] ?? 'none';
    requests.of(operation, credential, outcome, shownCode).value += 1;
    durations.of(operation).observe(durationMs / 1000);
  };
}

/** An error in a redirect also counts as a rejection (RFC 6749 §4.1.2.1). */
function outcomeOf(status = 0, code: string | undefined): (typeof OUTCOMES)[number] {
  if (status < 400 && code === undefined) {
    return 'success';
  }
  return status < 500 ? 'refused' : 'failed';
}

/** Counts what happened to the entries of the request log. */
export function createRequestLogMetrics(registry: MetricsRegistry, results: readonly string[]) {
  const entriesByResult = registry.counter({
    name: 'gatehouse_request_log_entries_total',
    help: 'Entries for the request log, by what happened to them.',
    labels: { result: results },
  });
  return (result: string, entries: number) => {
    entriesByResult.of(result).value += entries;
  };
}

/** A request for the request log. */
export interface RecordedRequest extends Omit<RequestLine, 'operation' | 'stage'> {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly app: string;
  readonly operation: string;
  /** Whether the client proved its identity. */
  readonly verified: boolean;
  readonly userId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly verifiedMs?: number | undefined;
  readonly addressGroup: string;
  readonly userAgent?: string | undefined;
}

export type RequestRecorder = ReturnType<typeof createRequestRecorder>;

/** One of so many successful requests is recorded. */
const SAMPLED_ONE_IN = 100;
const USER_AGENT_CHARACTERS = 100;
const FINDING_CHARACTERS = 80;

/**
 * Records failed requests and a random sample of the others. For every other request, it costs a
 * comparison and a count.
 */
export function createRequestRecorder(dependencies: {
  readonly app: string;
  readonly addressGroupOf: (request: IncomingMessage) => string;
  readonly record: (request: RecordedRequest) => void;
}) {
  const { app, addressGroupOf, record } = dependencies;
  const add = (
    { stage: _, operation = 'unmatched', finding, ...line }: RequestLine,
    details: Omit<RecordedRequest, keyof RequestLine | 'app'>,
  ) =>
    record({ ...line, app, operation, finding: finding?.slice(0, FINDING_CHARACTERS), ...details });
  let untilSample = randomInterval();
  return {
    observe(line: RequestLine, request: IncomingMessage): void {
      if (line.reason === undefined) {
        untilSample -= 1;
        if (untilSample > 0) {
          return;
        }
        untilSample = randomInterval();
      }
      const { receivedAt, notes } = observedRequest(request);
      const { clientId } = line;
      add(line, {
        at: receivedAt,
        verified:
          clientId !== undefined && (notes.verified === true || notes.verifiedMs !== undefined),
        userId: notes.userId,
        keyId: notes.keyId,
        verifiedMs: notes.verifiedMs && Math.round(notes.verifiedMs * 10) / 10,
        addressGroup: addressGroupOf(request),
        userAgent: printableUserAgent(request.headers['user-agent']),
      });
    },
    /** Records input that is not a request. Only the address of the peer is known. */
    recordMalformed(line: RequestLine, peerAddress: string): void {
      const group = addressGroup(unmappedAddress(peerAddress));
      add(line, { at: Date.now(), verified: false, addressGroup: group });
    },
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
