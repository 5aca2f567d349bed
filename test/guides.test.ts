/** The guides quote the programs in examples/ exactly. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readDocument } from './documents.ts';
import { root } from './source-tree.ts';

const guides = globSync('docs/guides/*.md', { cwd: root }).sort();

function quotations(text: string): readonly { readonly path: string; readonly quoted: string }[] {
  return [...text.matchAll(/```\w+ (examples\/\S+)\n([\s\S]*?)```/g)].map(
    ([, path = '', quoted = '']) => ({ path, quoted }),
  );
}

describe.each(guides)('%s', (path) => {
  const { text } = readDocument(path);

  test('quotes its program exactly', () => {
    const quoted = quotations(text);
    const wrong = quoted.filter(
      (each) => !readFileSync(join(root, each.path), 'utf8').includes(each.quoted),
    );
    expect(quoted.length).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
  });
});

test('git and npm ignore the secrets that the commands of the guides write', () => {
  const ignored = readFileSync(join(root, 'examples/.gitignore'), 'utf8').split('\n');
  const written = guides
    .flatMap((path) => [...readDocument(path).text.matchAll(/> (examples\/\S+?)\)?$/gm)])
    .map(([, path = '']) => basename(path));
  expect(new Set(written)).toEqual(
    new Set(['secure-key.txt', '.env', 'http-client.private.env.json']),
  );
  expect(written.filter((name) => !ignored.includes(name))).toEqual([]);
});
