import type { IncomingMessage } from 'node:http';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import type { RequestLine } from '../telemetry/request-line.ts';

/** Allowed label values of the request metrics. Other values count as `other`. */
interface RequestLabels {
  /** Names of the route table. */
  readonly operations: readonly string[];
  readonly credentials: readonly string[];
  /** Error codes of the app's catalogue. */
  readonly codes: readonly string[];
}

/** Called once for each request, after the reply or a disconnect. */
export type RequestObserver = (line: RequestLine, request: IncomingMessage) => void;

const OUTCOMES = ['success', 'refused', 'failed', 'aborted'] as const;
/** Label value for replies without a code. */
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10] as const;

export function createRequestMetrics(
  registry: MetricsRegistry,
  { operations, credentials, codes }: RequestLabels,
): (line: RequestLine) => void {
  const operation = ['unmatched', ...operations];
  const requests = registry.counter({
    name: 'gatehouse_requests_total',
    help: 'Requests that have ended, with a reply or because the client disconnected.',
    labels: {
      operation,
      credential: ['none', ...credentials],
      outcome: OUTCOMES,
      code: [...STATUS_CLASSES, ...codes],
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
export function createRequestLogMetrics(
  registry: MetricsRegistry,
  results: readonly string[],
): (result: string, entries: number) => void {
  const entriesByResult = registry.counter({
    name: 'gatehouse_request_log_entries_total',
    help: 'Entries for the request log, by what happened to them.',
    labels: { result: results },
  });
  return (result, entries) => {
    entriesByResult.of(result).value += entries;
  };
}
