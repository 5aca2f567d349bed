/** docs/routes.md with containers: a custom service behind the gateway, as the guide describes it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { codeBlock, readDocument } from '../documents.ts';
import { root } from '../source-tree.ts';
import { callGateway, sign, startTierInUse } from './clients.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
const guide = readDocument('docs/routes.md');

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const routes = file('routes.json', codeBlock(guide, 'json'));
const program = file('telemetry.mjs', codeBlock(guide, 'js telemetry.mjs'));
const override = codeBlock(guide, 'yaml own-service').replace('./routes.json', routes);
// Runs the guide's program in Gatehouse's image, which contains Node and jose, instead of building
// another.
const asImage = `services:
  telemetry:
    image: gatehouse:test
    command: ["/app/telemetry.mjs"]
    volumes: ["${program}:/app/telemetry.mjs:ro"]
`;
const files = [
  ...[join(root, 'docker-compose.yml'), file('override.yml', override)],
  file('image.yml', asImage),
];
const { tier, users, newToken } = await startTierInUse({
  environment: { COMPOSE_FILE: files.join(':') },
});
// After the tier, whose removal reads the files.
afterAll(() => rmSync(directory, { recursive: true }));
const bearer = { authorization: `Bearer ${await newToken()}` };

describe('a custom service', () => {
  test.each([
    ['an access token', 'last=5', () => bearer],
    ['a signature', 'last=6', () => sign(users.web, 'last=6')],
  ])('gets the identity of the caller, with %s', async (_kind, query, headersOf) => {
    const path = `/telemetry/pump-1?${query}`;
    expect(await callGateway(tier, path, { headers: headersOf() })).toEqual({
      status: 200,
      body: { organization: 'acme', client: 'web', path },
    });
  });

  test.each<[number, string, RequestInit]>([
    [401, '/telemetry/pump-1', {}],
    [404, '/telemetry', { headers: bearer }],
    [405, '/telemetry/pump-1', { method: 'DELETE', headers: bearer }],
    // The built-in routes are served as well.
    [200, '/api/device', { headers: bearer }],
  ])(
    'gets no request without a credential or outside the listed routes: %d %s',
    async (status, path, init) => {
      expect(await callGateway(tier, path, init)).toMatchObject({ status });
    },
  );

  test('rejects requests that bypass the gateway, with or without a token', async () => {
    const script = `Promise.all(['', 'Bearer x', 'Bearer ey.ey.x'].map((authorization) =>
      fetch('http://telemetry:8860/telemetry/pump-1', { headers: { authorization } }).then((r) => r.status)))
      .then((all) => console.log(JSON.stringify(all)));`;
    expect(JSON.parse(await tier.node('gateway', script))).toEqual([401, 401, 401]);
  });
});
