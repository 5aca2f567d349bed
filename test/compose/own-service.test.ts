/**
 * docs/routes.md with containers: a custom service behind the gateway, as the guide describes it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { codeBlock, readDocument } from '../documents.ts';
import { root } from '../source-tree.ts';
import { callGateway, registerUsers, requestToken, sign, type Users } from './clients.ts';
import { createTier, type Tier } from './tier.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-own-service-'));
const guide = readDocument('docs/routes.md');
let tier: Tier;
let users: Users;

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

beforeAll(async () => {
  const routes = file('routes.json', codeBlock(guide, 'json'));
  const program = file('telemetry.mjs', codeBlock(guide, 'js telemetry.mjs'));
  const override = codeBlock(guide, 'yaml own-service').replace('./routes.json', routes);
  // Runs the guide's program in Gatehouse's image, which contains Node and jose, instead of
  // building another.
  const asImage = file(
    'image.yml',
    `services:
  telemetry:
    image: gatehouse:test
    command: ["/app/telemetry.mjs"]
    volumes: ["${program}:/app/telemetry.mjs:ro"]
`,
  );
  const files = [join(root, 'docker-compose.yml'), file('override.yml', override), asImage];
  tier = await createTier({ environment: { COMPOSE_FILE: files.join(':') } });
  await tier.up();
  users = await registerUsers(tier);
}, 180_000);
afterAll(async () => {
  await tier.remove();
  rmSync(directory, { recursive: true });
});

describe('a custom service', () => {
  test('gets the identity of the caller, with each kind of credential', async () => {
    const { body } = await requestToken(tier, users.web, { grant_type: 'client_credentials' });
    const bearer = { authorization: `Bearer ${body.access_token}` };
    const reply = { organization: 'acme', client: 'web' };
    expect(await callGateway(tier, '/telemetry/pump-1?last=5', { headers: bearer })).toEqual({
      status: 200,
      body: { ...reply, path: '/telemetry/pump-1?last=5' },
    });
    const headers = sign(users.web, 'last=6');
    expect(await callGateway(tier, '/telemetry/pump-1?last=6', { headers })).toEqual({
      status: 200,
      body: { ...reply, path: '/telemetry/pump-1?last=6' },
    });
  });

  test('gets no request without a credential or outside the listed routes', async () => {
    expect(await callGateway(tier, '/telemetry/pump-1')).toMatchObject({ status: 401 });
    const { body } = await requestToken(tier, users.web, { grant_type: 'client_credentials' });
    const headers = { authorization: `Bearer ${body.access_token}` };
    expect(await callGateway(tier, '/telemetry', { headers })).toMatchObject({ status: 404 });
    expect(
      await callGateway(tier, '/telemetry/pump-1', { method: 'DELETE', headers }),
    ).toMatchObject({ status: 405 });
    // The built-in routes are served as well.
    expect(await callGateway(tier, '/api/device', { headers })).toMatchObject({ status: 200 });
  });

  test('rejects requests that bypass the gateway, with or without a token', async () => {
    const script = `Promise.all(['', 'Bearer x', 'Bearer ey.ey.x'].map((authorization) =>
      fetch('http://telemetry:8860/telemetry/pump-1', { headers: { authorization } }).then((r) => r.status)))
      .then((all) => console.log(JSON.stringify(all)));`;
    expect(JSON.parse(await tier.node('gateway', script))).toEqual([401, 401, 401]);
  });
});
