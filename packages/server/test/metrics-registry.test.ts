import { describe, expect, test } from '@jest/globals';
import { createRequestMetrics } from '../src/requests/request-records.ts';
import type { RequestLine } from '../src/telemetry/logger.ts';
import { metricsText } from '../src/telemetry/metric-families.ts';
import { createMetricsRegistry } from '../src/telemetry/metrics-registry.ts';

describe('a counter', () => {
  test('without labels exists from the start, and with labels from its first use', () => {
    const registry = createMetricsRegistry();
    registry.counter({ name: 'plain_total', help: 'Plain.' });
    const labelled = registry.counter({
      name: 'kinds_total',
      help: 'Kinds.',
      labels: { kind: ['a', 'b'], result: ['good'] },
    });
    labelled.of('a', 'good').value += 2;
    expect(metricsText(registry.families())).toBe(
      '# HELP plain_total Plain.\n# TYPE plain_total counter\nplain_total 0\n' +
        '# HELP kinds_total Kinds.\n# TYPE kinds_total counter\nkinds_total{kind="a",result="good"} 2\n',
    );
  });

  test('counts any number of undeclared values as other', () => {
    const registry = createMetricsRegistry();
    const cells = registry.counter({
      name: 'n_total',
      help: 'N.',
      labels: { one: ['known'], two: ['known'] },
    });
    for (let i = 0; i < 10_000; i += 1) {
      cells.of(`random-${i}`, 'known').value += 1;
      cells.of('known', `random-${i}`).value += 1;
    }
    expect(cells.entries().map(({ labels, cell }) => [labels, cell.value])).toEqual([
      [{ one: 'other', two: 'known' }, 10_000],
      [{ one: 'known', two: 'other' }, 10_000],
    ]);
  });
});

test('a histogram counts durations up to each bound, and all of them at infinity', () => {
  const registry = createMetricsRegistry();
  const cell = registry
    .histogram({ name: 'd_seconds', help: 'D.', labels: { op: ['x'] }, buckets: [0.5, 1] })
    .of('x');
  for (const seconds of [0.25, 0.5, 0.75, 2]) {
    cell.observe(seconds);
  }
  expect(metricsText(registry.families())).toBe(
    '# HELP d_seconds D.\n# TYPE d_seconds histogram\n' +
      'd_seconds_bucket{op="x",le="0.5"} 2\nd_seconds_bucket{op="x",le="1"} 3\n' +
      'd_seconds_bucket{op="x",le="+Inf"} 4\nd_seconds_sum{op="x"} 3.5\nd_seconds_count{op="x"} 4\n',
  );
});

test('a collected metric is read at a scrape, and its labels are escaped', () => {
  const registry = createMetricsRegistry();
  let value = 1;
  registry.collect({
    name: 'g',
    help: 'G.',
    acrossWorkers: 'max',
    read: () => [{ labels: { text: 'a"b\\c\nd' }, value }],
  });
  value = 7;
  expect(metricsText(registry.families())).toContain('g{text="a\\"b\\\\c\\nd"} 7\n');
});

const line: RequestLine = {
  reason: undefined,
  stage: undefined,
  requestId: 'id',
  method: 'GET',
  status: 200,
  aborted: false,
  durationMs: 7,
  upstreamMs: undefined,
  operation: 'read',
  clientId: 'client',
  credential: 'bearer',
  code: undefined,
};

test.each<[Partial<RequestLine>, string]>([
  [{}, 'operation="read",credential="bearer",outcome="success",code="2xx"'],
  [
    { status: 404, code: 'not_found' },
    'operation="read",credential="bearer",outcome="refused",code="not_found"',
  ],
  [
    { status: 302, code: 'not_found' },
    'operation="read",credential="bearer",outcome="refused",code="not_found"',
  ],
  [{ status: 500 }, 'operation="read",credential="bearer",outcome="failed",code="5xx"'],
  [
    { status: undefined, aborted: true },
    'operation="read",credential="bearer",outcome="aborted",code="none"',
  ],
  [
    { operation: undefined, credential: undefined },
    'operation="unmatched",credential="none",outcome="success",code="2xx"',
  ],
  [
    { operation: '/random', credential: 'token-1', code: 'made-up' },
    'operation="other",credential="other",outcome="refused",code="other"',
  ],
])('a request is counted by its labels: %j', (change, labels) => {
  const registry = createMetricsRegistry();
  const observe = createRequestMetrics(registry, {
    operations: ['unmatched', 'read'],
    credentials: ['bearer'],
    codes: ['not_found'],
  });
  observe({ ...line, ...change });
  expect(metricsText(registry.families())).toContain(`gatehouse_requests_total{${labels}} 1\n`);
});
