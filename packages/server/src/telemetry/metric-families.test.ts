import { describe, expect, test } from '@jest/globals';
import { combineFamilies, metricsText } from './metric-families.ts';
import { createMetricsRegistry } from './metrics-registry.ts';

function familiesOf(value: number) {
  const registry = createMetricsRegistry();
  const counter = registry.counter({ name: 'c_total', help: 'C.', labels: { kind: ['a', 'b'] } });
  counter.of('a').value = value;
  const histogram = registry.histogram({ name: 'h_seconds', help: 'H.', buckets: [2] });
  histogram.of().observe(value);
  for (const acrossWorkers of ['sum', 'max', 'min'] as const) {
    const name = `g_${acrossWorkers}`;
    registry.collect({ name, help: 'G.', acrossWorkers, read: () => value });
  }
  return registry.families();
}

describe('the metrics of several workers', () => {
  test('are added, and each gauge follows its own rule', () => {
    expect(metricsText(combineFamilies([familiesOf(1), familiesOf(3)]))).toBe(
      '# HELP c_total C.\n# TYPE c_total counter\nc_total{kind="a"} 4\nc_total{kind="b"} 0\n' +
        '# HELP h_seconds H.\n# TYPE h_seconds histogram\n' +
        'h_seconds_bucket{le="2"} 1\nh_seconds_bucket{le="+Inf"} 2\nh_seconds_sum 4\nh_seconds_count 2\n' +
        '# HELP g_sum G.\n# TYPE g_sum gauge\ng_sum 4\n' +
        '# HELP g_max G.\n# TYPE g_max gauge\ng_max 3\n' +
        '# HELP g_min G.\n# TYPE g_min gauge\ng_min 1\n',
    );
  });

  test('keep a series that only one of them has', () => {
    const registry = createMetricsRegistry();
    registry
      .counter({ name: 'c_total', help: 'C.', labels: { kind: ['a', 'b'] } })
      .of('b').value = 5;
    const [family] = combineFamilies([familiesOf(1), registry.families()]);
    expect(family?.samples.map(({ labels, value }) => [labels.kind, value])).toEqual([
      ['a', 1],
      ['b', 5],
    ]);
  });
});
