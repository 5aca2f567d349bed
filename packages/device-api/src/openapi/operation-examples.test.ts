import { expect, test } from '@jest/globals';
import { operations } from '../routes.ts';
import { accessTokenOperation } from './access-token-operation.ts';
import { issueAccessToken } from './described-route.ts';
import { operationExamples } from './operation-examples.ts';
import { operationTexts } from './operation-texts.ts';

const described = [...operations, { ...accessTokenOperation, name: issueAccessToken }] as const;

test.each(described)('The example of $name fits its schemas.', ({ name, request, reply }) => {
  const example = operationExamples[name];
  for (const [schema, value] of [
    [request, example.request],
    [reply, example.result],
  ] as const) {
    const problems = value === undefined ? undefined : schema?.safeParse(value).error?.issues;
    expect(problems).toBeUndefined();
  }
  expect(example.result === undefined).toBe(reply === undefined);
});

test.each(described)('$name accepts Accept-Language if its reply has texts.', ({ name }) => {
  const hasText = JSON.stringify(operationExamples[name]).includes('"text"');
  expect(operationTexts[name].hasTexts === true).toBe(hasText);
});

test('Every described operation exists.', () => {
  const names = described.map(({ name }) => name);
  expect(Object.keys(operationTexts).sort()).toEqual([...names].sort());
});
