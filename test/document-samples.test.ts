/** The files that documents show work when a reader copies them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { loadRouting } from '../apps/gateway/src/routes/route-file.ts';
import { bootstrapSchema } from '../packages/identity/src/bootstrap/bootstrap-schema.ts';
import { codeBlock, readDocument, section } from './documents.ts';

test('the bootstrap file of docs/configuration.md is valid', () => {
  const page = readDocument('docs/configuration.md');
  const json = /```json\n([\s\S]*?)```/.exec(section(page, 'Bootstrap file'))?.[1] ?? '';
  const withSecrets = json
    .replace('"secureKeyFile": "web.key"', '"secureKey": "aQ3xV7mK9pT2wZ5r"')
    .replace('"passwordFile": "alice.password"', '"password": "a good password"');
  expect(bootstrapSchema.safeParse(JSON.parse(withSecrets)).error?.issues).toBeUndefined();
});

test('the gateway accepts the route file of docs/routes.md', () => {
  const directory = mkdtempSync(join(tmpdir(), 'routes-guide-'));
  try {
    const path = join(directory, 'routes.json');
    writeFileSync(path, codeBlock(readDocument('docs/routes.md'), 'json'));
    const { routes, upstreams } = loadRouting(path, { url: 'http://localhost:8850' });
    const own = routes.filter(({ upstream }) => upstream === 'telemetry');
    expect(own.map(({ operation, streaming }) => [operation, streaming])).toEqual([
      ['telemetry.read', false],
      ['telemetry.follow', true],
    ]);
    expect(upstreams.get('telemetry')).toMatchObject({ url: 'http://telemetry:8860' });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
