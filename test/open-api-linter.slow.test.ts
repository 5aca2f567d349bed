/** Redocly accepts the OpenAPI documents with its recommended rules. */

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { readApiDocument } from './api-document.ts';
import { root } from './source-tree.ts';

const directory = temporaryFolder();
const system = await startSystem({ engine: 'sqlite', apps: ['console'], bootstrap: {} });

/** The problems that the linter finds, and what it prints about the document. */
function lint(document: object): readonly string[] {
  const file = join(directory, 'openapi.json');
  writeFileSync(file, JSON.stringify(document));
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/@redocly/cli/bin/cli.js'), 'lint', file, '--format=json'],
    {
      // Without a configuration file, the linter uses its recommended rules.
      cwd: directory,
      encoding: 'utf8',
      env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  const { problems } = JSON.parse(stdout) as {
    readonly problems: readonly { readonly ruleId: string; readonly message: string }[];
  };
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

test('Redocly finds no problem in the OpenAPI document, not even a warning', async () => {
  expect(lint(await readApiDocument('gatehouse.test'))).toEqual([]);
});

test('nor in that of the management API', async () => {
  const { consoleUrl } = system;
  const reply = await fetch(`${consoleUrl}/admin/v1/openapi.json`);
  const document = JSON.stringify(await reply.json()).replaceAll(
    consoleUrl,
    'https://console.test',
  );
  expect(lint(JSON.parse(document))).toEqual([]);
});
