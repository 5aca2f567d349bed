import { describe, expect, test } from '@jest/globals';
import { durationQuantile } from './time-series.ts';

const durations = (...counts: readonly (readonly [bound: string, count: number])[]) =>
  new Map(counts);

describe('a quantile of durations', () => {
  const spread = durations(['+Inf', 100], ['0.1', 90], ['0.01', 50], ['0.025', 50], ['2.5', 98]);

  test.each([
    [0.25, 5],
    [0.5, 10],
    [0.7, 62.5],
    [0.9, 100],
    [0.94, 1300],
  ])('%p is estimated within its bucket', (quantile, milliseconds) => {
    expect(durationQuantile(spread, quantile)).toBeCloseTo(milliseconds, 6);
  });

  test('above the last bound, it is that bound', () => {
    expect(durationQuantile(spread, 0.99)).toBe(2500);
  });

  test('nothing was measured: it has no value', () => {
    expect(durationQuantile(new Map(), 0.5)).toBeUndefined();
    expect(durationQuantile(durations(['0.1', 0], ['+Inf', 0]), 0.5)).toBeUndefined();
  });

  test('an empty bucket below raises the lower bound', () => {
    expect(durationQuantile(durations(['0.1', 0], ['0.5', 10], ['+Inf', 10]), 0.5)).toBeCloseTo(
      300,
      6,
    );
  });
});
