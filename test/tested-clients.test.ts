/** docs/applications.md lists the client libraries that test/clients tests, with their versions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readDocument, tableRows } from './documents.ts';
import { root } from './source-tree.ts';

test('lists every tested client library with its versions', () => {
  const manifest = readFileSync(join(root, 'test/clients/package.json'), 'utf8');
  // Two versions of one library have names such as `openid-client-5`, and `npm:` aliases.
  const installed = Object.entries<string>(JSON.parse(manifest).dependencies).map(
    ([name, version]) =>
      /^npm:(.+)@(.+)$/.exec(version)?.slice(1).join(' ') ?? `${name} ${version}`,
  );
  const rows = tableRows(readDocument('docs/applications.md'), 'Tested client libraries');
  const listed = rows.flatMap(({ cells: [library = '', versions = ''] }) => {
    const name = /`([^`]+)`/.exec(library)?.[1] ?? library;
    return versions.split(', ').map((version) => `${name} ${version}`);
  });
  expect(listed.filter((each) => !each.includes('Debian')).sort()).toEqual(installed.sort());
});
