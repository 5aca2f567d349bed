/** docs/routes.md lists every member that the gateway reads, and its example is valid. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deviceScopes } from '@gatehouse/device-api';
import { afterAll, describe, expect, test } from '@jest/globals';
import { credentialKinds, routeMethods } from '../apps/gateway/src/routes/route.ts';
import { loadRouting, routeEntry, routeFile } from '../apps/gateway/src/routes/route-file.ts';
import { codeBlock, firstName, readDocument, tableRows } from './documents.ts';

const guide = readDocument('docs/routes.md');
const directory = mkdtempSync(join(tmpdir(), 'routes-guide-'));

afterAll(() => rmSync(directory, { recursive: true }));

describe('docs/routes.md', () => {
  test.each([
    ['The file', routeFile],
    ['One route', routeEntry],
  ])('%s: lists every member with its default, and no other', (heading, schema) => {
    const listed = tableRows(guide, heading).map((row) => [firstName(row), row.cells[1]]);
    const read = Object.entries(schema.shape).map(([member, type]) => {
      const { success: isOptional, data } = type.safeParse(undefined);
      const byItself =
        data === undefined ? expect.stringMatching(/^none|^all three$/) : inCode(data);
      return [member, isOptional ? byItself : 'required'];
    });
    expect(listed).toEqual(read);
  });

  function inCode(value: unknown): string {
    return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
  }

  test('names every scope, method and credential', () => {
    const text = tableRows(guide, 'One route')
      .flatMap(({ cells }) => cells)
      .join('\n');
    for (const word of [...deviceScopes, ...routeMethods, ...credentialKinds]) {
      expect(text).toContain(`\`${word}\``);
    }
  });

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
