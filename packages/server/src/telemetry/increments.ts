import type { RequestLine } from './logger.ts';
import type { MetricsRegistry } from './metrics-registry.ts';

/** Counts of a metric, by the values of some of its labels. */
export interface CountedMetric {
  readonly metric: string;
  /** The name of its samples, if it is a histogram. */
  readonly sample?: string;
  /** A request without one of them, `none`, is not counted. */
  readonly labels: readonly string[];
}

const sources = {
  outcomes: { metric: 'gatehouse_requests_total', labels: ['outcome'] },
  durations: {
    metric: 'gatehouse_request_duration_seconds',
    sample: 'gatehouse_request_duration_seconds_bucket',
    labels: ['le'],
  },
  tokens: { metric: 'gatehouse_tokens_issued_total', labels: ['grant'] },
} as const satisfies Readonly<Record<string, CountedMetric>>;

/**
 * So many clients are counted in one period. The first ones have room: a client with a noticeable
 * share of the requests is among them, and no count is ever too high.
 */
const MAXIMUM_CLIENTS = 1024;

/**
 * What this process counted, for the time series that all processes share: differences of its
 * metrics, so that a request is not counted twice. Only the clients, which no metric may have as a
 * label, and the reasons of failures are counted here.
 *
 * @param verifications the metric that counts verified credentials
 */
export function createIncrements(registry: MetricsRegistry, verifications: CountedMetric) {
  const seen = new Map<string, number>();
  let observed = newCounts();
  const writes = registry.counter({
    name: 'gatehouse_time_series_writes_total',
    help: 'Writes to the time series of operators. Lost ones are missing in its plots.',
    labels: { result: ['stored', 'lost'] },
  });

  function difference({ metric, sample = metric, labels }: CountedMetric) {
    const totals = new Map<string, number>();
    for (const { name, labels: values, value } of registry.samplesOf(metric)) {
      const members = labels.map((label) => values[label]);
      if (name === sample && !members.includes('none')) {
        const member = members.join(' ');
        totals.set(member, (totals.get(member) ?? 0) + value);
      }
    }
    const counted = [...totals].map(([member, total]) => {
      const key = `${sample} ${member}`;
      const count = total - (seen.get(key) ?? 0);
      seen.set(key, total);
      return [member, count] as const;
    });
    return new Map(counted);
  }

  return {
    /** Costs one lookup for a successful request. */
    observe({ clientId, reason }: Pick<RequestLine, 'clientId' | 'reason'>): void {
      if (clientId !== undefined) {
        const { clients, failingClients } = observed;
        addOne(reason === undefined ? clients : failingClients, clientId);
      }
      if (reason !== undefined) {
        addOne(observed.reasons, reason);
      }
    },
    /** Returns what was counted since the last call. */
    take() {
      const taken = observed;
      observed = newCounts();
      return {
        outcomes: withoutZeros(difference(sources.outcomes)),
        // A quantile needs the bounds of the empty buckets.
        durations: difference(sources.durations),
        tokens: withoutZeros(difference(sources.tokens)),
        verifications: withoutZeros(difference(verifications)),
        ...taken,
      };
    },
    /** Counts what happened to the result of `take`. */
    countWrite(result: 'stored' | 'lost'): void {
      writes.of(result).value += 1;
    },
  };
}

const newCounts = () => ({
  clients: new Map<string, number>(),
  failingClients: new Map<string, number>(),
  reasons: new Map<string, number>(),
});

const withoutZeros = (counts: ReadonlyMap<string, number>) =>
  new Map([...counts].filter(([, count]) => count > 0));

function addOne(counts: Map<string, number>, member: string): void {
  const count = counts.get(member);
  if (count !== undefined || counts.size < MAXIMUM_CLIENTS) {
    counts.set(member, (count ?? 0) + 1);
  }
}
