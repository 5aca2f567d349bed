/** The page of guides and the folder of examples belong together. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readDocument, relativeAnchors } from './documents.ts';
import { root } from './source-tree.ts';

const guides = readDocument('docs/guides.md').text;

test('each example is in the list of the examples, with its guide', () => {
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const list = readDocument('examples/README.md');
  const listed = [...list.text.matchAll(/^\| `([a-z-]+)\/`/gm)].map(([, name = '']) => name);
  expect(listed.sort()).toEqual(folders.sort());
  const links = relativeAnchors(list).filter(({ target }) => target === '../docs/guides.md');
  expect(links).toHaveLength(folders.length);
});

test('git and npm ignore the secrets that the commands of the guides write', () => {
  const ignored = readFileSync(join(root, 'examples/.gitignore'), 'utf8').split('\n');
  const written = [...guides.matchAll(/> (examples\/\S+?)\)?$/gm)].map(([, path = '']) =>
    basename(path),
  );
  expect(new Set(written)).toEqual(
    new Set(['secure-key.txt', '.env', 'http-client.private.env.json']),
  );
  expect(written.filter((name) => !ignored.includes(name))).toEqual([]);
});
