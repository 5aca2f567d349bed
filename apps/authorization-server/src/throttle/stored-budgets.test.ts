import { expect, test } from '@jest/globals';
import { assertParametersFit } from './stored-budgets.ts';

test('The parameters of a request may be 4096 bytes long in total, as JSON.', () => {
  const withoutText = Buffer.byteLength(JSON.stringify({ a: '' }));
  const longest = 4096 - withoutText;
  expect(() => assertParametersFit(undefined)).not.toThrow();
  expect(() => assertParametersFit({ a: 'x'.repeat(longest) })).not.toThrow();
  expect(() => assertParametersFit({ a: 'x'.repeat(longest + 1) })).toThrow(
    expect.objectContaining({
      error: 'invalid_request',
      error_description: 'The parameters are 4097 bytes long in total. The limit is 4096 bytes.',
    }),
  );
  expect(() => assertParametersFit({ a: 'é'.repeat(longest / 2 + 1) })).toThrow();
});
