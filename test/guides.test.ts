/** The integration guides have one form, and quote the programs in examples/ exactly. */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readDocument, relativeLinks } from './documents.ts';
import { root } from './source-tree.ts';

/** Two screens: a guide is one page, and a reader sees all of it quickly. */
const MAXIMUM_LINES = 130;

const guides = globSync('docs/guides/*.md', { cwd: root }).sort();

function quotations(text: string): readonly { readonly path: string; readonly quoted: string }[] {
  return [...text.matchAll(/```\w+ (examples\/\S+)\n([\s\S]*?)```/g)].map(
    ([, path = '', quoted = '']) => ({ path, quoted }),
  );
}

describe.each(guides)('%s', (path) => {
  const { text } = readDocument(path);

  test('has the sections of a guide, in their order, on one page', () => {
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
    const expected = ['Register the client', 'The program', 'Run it', 'In production'];
    expect(headings.filter((heading) => expected.includes(heading))).toEqual(expected);
    expect(text.split('\n').length).toBeLessThanOrEqual(MAXIMUM_LINES);
  });

  test('quotes its program exactly', () => {
    const quoted = quotations(text);
    const wrong = quoted.filter(
      (each) => !readFileSync(join(root, each.path), 'utf8').includes(each.quoted),
    );
    expect(quoted.length).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
  });

  test('is in the index of the documentation, and in the list of the examples', () => {
    const name = basename(path);
    expect(relativeLinks(readDocument('docs/README.md'))).toContain(`guides/${name}`);
    expect(relativeLinks(readDocument('examples/README.md'))).toContain(`../docs/guides/${name}`);
  });
});

test('each example is in the list of the examples', () => {
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const { text } = readDocument('examples/README.md');
  const listed = [...text.matchAll(/^\| `([a-z-]+)\/`/gm)].map(([, name = '']) => name);
  expect(listed.sort()).toEqual(folders.sort());
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
