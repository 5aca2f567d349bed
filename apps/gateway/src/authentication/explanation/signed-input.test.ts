import { describe, expect, test } from '@jest/globals';
import { describeSignedInput } from './signed-input.ts';

describe('the description of a signed text', () => {
  test('contains up to 1024 bytes', () => {
    const whole = 'a'.repeat(1024);
    expect(describeSignedInput({ signedAs: 'query', signed: whole })).toEqual({
      signedAs: 'query',
      expectedText: whole,
    });
    expect(describeSignedInput({ signedAs: 'query', signed: `${whole}b` })).toEqual({
      signedAs: 'query',
      expectedText: whole,
      isCut: true,
    });
  });

  test('never ends with a part of a character', () => {
    const { expectedText } = describeSignedInput({
      signedAs: 'form',
      signed: `a${'é'.repeat(1024)}`,
    }) as { expectedText: string };
    expect(expectedText).toBe(`a${'é'.repeat(511)}`);
  });

  test('contains up to 160 bytes of each line, if all lines together have more than 1024', () => {
    const lines = ['GET', 'b'.repeat(160), 'c'.repeat(161), 'd'.repeat(1024)];
    expect(describeSignedInput({ signedAs: 'lines', signed: lines.join('\n') })).toEqual({
      signedAs: 'lines',
      expectedLines: ['GET', 'b'.repeat(160), 'c'.repeat(160), 'd'.repeat(160)],
      isCut: true,
    });
    const long = ['GET', 'e'.repeat(500)];
    expect(describeSignedInput({ signedAs: 'lines', signed: long.join('\n') })).toEqual({
      signedAs: 'lines',
      expectedLines: long,
    });
  });
});
