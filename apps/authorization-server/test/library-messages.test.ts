/** The table from messages to failure reasons matches the installed library and the catalogue. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { authorizationServerReasons, failureReasons } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { pageErrors } from '../src/pages/page-errors.ts';
import { libraryMessages } from '../src/provider/reasons/library-messages.ts';
import { reasonsOfCodes } from '../src/provider/reasons/reasons-of-codes.ts';
import { oauthErrorCodes } from '../src/requests/metrics.ts';

const source = fileURLToPath(new URL('../src/', import.meta.url));
/** It verifies passwords, and passes on the reason of a rejection. */
const users = fileURLToPath(new URL('../../../packages/identity/src/users/', import.meta.url));
const library = fileURLToPath(new URL('./', import.meta.resolve('oidc-provider')));

function textOf(folder: string, skipped: RegExp): string {
  return globSync('**/*.{js,ts}', { cwd: folder })
    .filter((path) => !skipped.test(path))
    .map((path) => readFileSync(join(folder, path), 'utf8'))
    .join('\n')
    .replaceAll("\\'", "'");
}

/** Messages that the library puts together from a label and a text. */
const labels =
  /^(?:authorization code|refresh token|device code)(?= (?:not found|already consumed|invalid \())/;

describe('the table of the messages of oidc-provider', () => {
  const throwing = textOf(library, /^(?!.)/) + textOf(source, /^provider\/reasons\//);

  test.each(Object.keys(libraryMessages))('has a message that is thrown: %s', (message) => {
    const label = labels.exec(message)?.[0];
    const text = message.replace(labels, '').trim();
    expect(throwing).toContain(text);
    expect(throwing).toContain(label ?? text);
  });

  test('has a reason for every error code', () => {
    const missing = oauthErrorCodes.filter((code) => !Object.hasOwn(reasonsOfCodes, code));
    expect(missing).toEqual([]);
  });

  test('has a reason that can have the code for every error code and page', () => {
    for (const [code, reason] of Object.entries({ ...reasonsOfCodes, ...pageErrors })) {
      expect([reason, failureReasons[reason].codes]).toEqual([
        reason,
        expect.arrayContaining([code]),
      ]);
    }
  });
});

test('Every reason of the authorization server is used by its source.', () => {
  const code = textOf(source, /^(?!.)/) + textOf(users, /\.test\.ts$/);
  const composed = ['code', 'refresh_token', 'device_code'].flatMap((kind) =>
    ['unknown', 'revoked', 'lost_race', 'of_another_client'].map((end) => `${kind}_${end}`),
  );
  const unused = Object.keys(authorizationServerReasons).filter(
    (name) => !composed.includes(name) && !code.includes(`'${name}'`),
  );
  expect(unused).toEqual([]);
});
