import { expect, test } from '@jest/globals';
import { entries } from './openapi/schemas.ts';

test.each(entries)('The example of $name fits its schemas.', ({ request, reply, example }) => {
  for (const [schema, value] of [
    [request, example.request],
    [reply, example.result],
  ] as const) {
    const problems = value === undefined ? undefined : schema?.safeParse(value).error?.issues;
    expect(problems).toBeUndefined();
  }
  expect(example.result === undefined).toBe(reply === undefined);
});
