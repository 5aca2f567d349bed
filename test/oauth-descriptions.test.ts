/** docs/errors.md quotes descriptions of OAuth errors that the authorization server can send. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorizationServerReasons } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { readSourceTree, root } from './source-tree.ts';

const [, oauth = ''] = readFileSync(join(root, 'docs/errors.md'), 'utf8').split(
  '## OAuth 2.0 endpoints',
);
const descriptions = Object.values(authorizationServerReasons).map(
  ({ cause, fix }) => `${cause} ${fix}`,
);
const source = readSourceTree()
  .filter((file) => file.workspace === 'apps/authorization-server' && !file.isTest)
  .map((file) => file.code)
  .join('\n');

const isSent = (text: string) =>
  descriptions.some((each) => each.startsWith(text)) ||
  // `${name} was sent in the query. …`
  source.includes(text.replace(/^grant_type/, '')) ||
  text === 'requested scope is not allowed';

describe('docs/errors.md', () => {
  const quoted = [...oauth.matchAll(/"error_description": "([^"]+)"/g)].map(
    ([, text = '']) => text,
  );
  const listed = [...oauth.matchAll(/^- `((?:The|grant_type) [^`]+)`:/gm)].map(
    ([, text = '']) => text,
  );

  test('quotes descriptions', () => {
    expect(quoted.length).toBeGreaterThan(3);
    expect(listed.length).toBeGreaterThan(10);
  });

  test.each(quoted)('quotes a description that is sent: %s', (text) => {
    expect(isSent(text)).toBe(true);
  });

  test.each(listed)('lists the beginning of a description that is sent: %s', (text) => {
    const [start = '', end = ''] = text.split(' … ');
    const found = descriptions.some((each) => each.startsWith(start) && each.includes(end));
    expect(found || isSent(text)).toBe(true);
  });
});
