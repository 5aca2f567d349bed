import { describe, expect, test } from '@jest/globals';
import { formatTraceparent, parseTraceparent } from './open-telemetry-tracer.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('a traceparent header', () => {
  test.each([
    ['01', 1],
    ['00', 0],
    ['03', 1],
    ['fe', 0],
  ])('with the flags %s has the sampled flag %i', (flags, traceFlags) => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)).toEqual({
      traceId,
      spanId,
      traceFlags,
      isRemote: true,
    });
  });

  test('of a later version may have more fields', () => {
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-the-future-brings`)?.traceFlags).toBe(
      1,
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
    const header = formatTraceparent({ traceId, spanId, traceFlags: 0 });
    expect(header).toBe(`00-${traceId}-${spanId}-00`);
    expect(parseTraceparent(header)).toMatchObject({ traceId, spanId, traceFlags: 0 });
  });
});
