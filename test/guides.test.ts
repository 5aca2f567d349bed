import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readDocument } from './documents.ts';
import { root } from './source-tree.ts';

const guides = readDocument('docs/guides.md').text;

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
