// runs alone: it compares times
import { medianRatio } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { createMetricsRegistry, createRequestMetrics } from '../src/index.ts';
import { serializeError } from '../src/telemetry/logger.ts';
import type { RequestLine } from '../src/telemetry/request-line.ts';

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

test.each(['a', 'x://', '?'])(
  'masks a long text of only %s in time proportional to its length',
  (part) => {
    const timeFor = (texts: number, length: number) => {
      const errors = Array.from({ length: texts }, () => new Error(part.repeat(length)));
      const started = performance.now();
      for (const error of errors) {
        serializeError(error);
      }
      return performance.now() - started;
    };
    // The same number of characters, in one text or in 16.
    const rounds = Array.from({ length: 5 }, () => ({
      long: timeFor(1, 32_000),
      short: timeFor(16, 2000),
    }));
    const ratio = medianRatio(
      rounds.map(({ long }) => long),
      rounds.map(({ short }) => short),
    );
    // In quadratic time, the ratio would be 16.
    expect(ratio).toBeLessThan(6);
  },
);

test('counting a request costs less than serializing its line twice', () => {
  const registry = createMetricsRegistry();
  const observe = createRequestMetrics(registry, {
    operations: Array.from({ length: 30 }, (_value, i) => `operation-${i}`),
    credentials: ['bearer'],
    codes: ['not_found'],
  });
  const lines = Array.from({ length: 30 }, (_value, i) => ({
    ...line,
    operation: `operation-${i}`,
  }));
  const timeOf = (work: (each: typeof line) => unknown) => {
    const started = performance.now();
    for (let i = 0; i < 100_000; i += 1) {
      work(lines[i % lines.length] ?? line);
    }
    return performance.now() - started;
  };
  // In turns, because the speed of a processor changes.
  const rounds = Array.from({ length: 7 }, () => ({
    counted: timeOf(observe),
    serialized: timeOf(JSON.stringify),
  }));
  const ratio = medianRatio(
    rounds.map(({ counted }) => counted),
    rounds.map(({ serialized }) => serialized),
  );
  // Measured: 0.75.
  expect(ratio).toBeLessThan(2);
});
