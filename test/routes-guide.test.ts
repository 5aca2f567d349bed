import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { loadRouting } from '../apps/gateway/src/routes/route-file.ts';
import { codeBlock, readDocument } from './documents.ts';

const guide = readDocument('docs/routes.md');
const directory = mkdtempSync(join(tmpdir(), 'routes-guide-'));

afterAll(() => rmSync(directory, { recursive: true }));

describe('docs/routes.md', () => {
  test('has an example that the gateway accepts', () => {
    const path = join(directory, 'routes.json');
    writeFileSync(path, codeBlock(guide, 'json'));
    const { routes, upstreams } = loadRouting(path, { url: 'http://localhost:8850' });
    const own = routes.filter(({ upstream }) => upstream === 'telemetry');
    expect(own.map(({ operation, streaming }) => [operation, streaming])).toEqual([
      ['telemetry.read', false],
      ['telemetry.follow', true],
    ]);
    expect(upstreams.get('telemetry')).toMatchObject({ url: 'http://telemetry:8860' });
  });
});
