import { describe, expect, test } from '@jest/globals';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('a traceparent header', () => {
  test.each([
    ['01', true],
    ['00', false],
    ['03', true],
    ['fe', false],
  ])('with the flags %s has sampled %s', (flags, sampled) => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)).toEqual({
      traceId,
      spanId,
      sampled,
    });
  });

  test('of a later version may have more fields', () => {
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-the-future-brings`)?.sampled).toBe(
      true,
    );
  });

  test.each([
    undefined,
    '',
    'garbage',
    `00-${traceId}-${spanId}-01-more`,
    `cc-${traceId}-${spanId}-01.more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}`,
    // Node joins repeated headers.
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  ])('%j is invalid', (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  test('has the sampled flag of its trace', () => {
    const header = formatTraceparent({ traceId, spanId, sampled: false });
    expect(header).toBe(`00-${traceId}-${spanId}-00`);
    expect(parseTraceparent(header)).toEqual({ traceId, spanId, sampled: false });
  });
});
