// runs alone: it compares times
import { medianRatio } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { serializeError } from '../src/telemetry/logger.ts';

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
