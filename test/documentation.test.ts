/** What documents show works: the commands of operators run in a test, and samples are valid. */
import { describe, expect, test } from '@jest/globals';
import { bootstrapSchema } from '../packages/identity/src/bootstrap/bootstrap-schema.ts';
import { readDocument, section } from './documents.ts';
import { namesOfCommands } from './operators-commands.ts';
import { readSourceTree } from './source-tree.ts';

test('docs/configuration.md shows a valid bootstrap file', () => {
  const page = readDocument('docs/configuration.md');
  const json = /```json\n([\s\S]*?)```/.exec(section(page, 'Bootstrap file'))?.[1] ?? '';
  const withSecrets = json
    .replace('"secureKeyFile": "web.key"', '"secureKey": "aQ3xV7mK9pT2wZ5r"')
    .replace('"passwordFile": "alice.password"', '"password": "a good password"');
  expect(bootstrapSchema.safeParse(JSON.parse(withSecrets)).error?.issues).toBeUndefined();
});

describe('docs/operations', () => {
  test('has no named block of commands that no test runs', () => {
    const tests = readSourceTree()
      .filter(({ isTest }) => isTest)
      .map(({ code }) => code)
      .join('\n');
    expect(namesOfCommands().filter((name) => !tests.includes(`'${name}'`))).toEqual([]);
  });
});
