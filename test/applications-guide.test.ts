// requires: curl openssl
/** Runs every command of docs/applications.md, as an application developer pastes them. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  authorizeAsUser,
  type Constellation,
  createPageVisitor,
  startConstellation,
} from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { codeBlock, readDocument } from './documents.ts';
import { runCommands } from './operators-commands.ts';

const guide = readDocument('docs/applications.md');
const directory = temporaryFolder();
/** The variables that earlier commands set in the shell. */
const variables = join(directory, 'variables');
const alice = { username: 'alice', password: 'a person’s password' };
const secureKey = 'dashboardKey0123456789ab';
const scopes = ['openid', 'profile', 'device:read'];
const MASTER_KEY_FILE = join(directory, 'master.key');
const codeGrants = ['authorization_code', 'refresh_token'];

let system: Constellation;

beforeAll(async () => {
  const client = (clientId: string, grantTypes: readonly string[], more: object) => ({
    clientId,
    name: clientId,
    orgId: 'acme',
    grantTypes,
    scopes,
    ...more,
  });
  writeFileSync(MASTER_KEY_FILE, randomBytes(32).toString('hex'), { mode: 0o600 });
  system = await startConstellation({
    engine: 'sqlite',
    environment: { MASTER_KEY_FILE },
    bootstrap: {
      organizations: [{ id: 'acme', name: 'Acme' }],
      users: [{ ...alice, name: 'Alice', orgId: 'acme' }],
      clients: [
        client('dashboard', [...codeGrants, 'client_credentials'], {
          secureKey,
          redirectUris: ['https://app.example/callback'],
        }),
        client('phone', codeGrants, {
          redirectUris: ['http://127.0.0.1:9010/callback'],
          applicationType: 'native',
          public: true,
        }),
        client('importer', ['client_credentials'], { secureKey }),
        client('inventory', [], { secureKey, resourceServer: true }),
        client('sensor', ['urn:ietf:params:oauth:grant-type:device_code'], { public: true }),
        client('partner', ['password'], { secureKey }),
        client('old', ['implicit'], {
          redirectUris: ['https://old.example/callback'],
          public: true,
          scopes: ['device:read'],
        }),
      ],
    },
  });
  writeFileSync(variables, '');
  writeFileSync(join(directory, 'key.txt'), `${secureKey}\n`);
});
afterAll(async () => {
  await system.stop();
});

function block(heading: string): string {
  return codeBlock(guide, heading)
    .replaceAll('http://localhost:9000', system.authorizationServerUrl)
    .replaceAll('http://localhost:8844', system.gatewayUrl);
}

/** Runs a block of the guide after the earlier blocks. */
function run(name: string, given: Readonly<Record<string, string>> = {}): string {
  const assignments = Object.entries(given).map(([key, value]) => `export ${key}='${value}'\n`);
  appendFileSync(variables, assignments.join(''));
  return runShell(`set -eua\n. "$1"\n${block(`sh ${name}`)}\nexport -p > "$1"`);
}

function runShell(script: string): string {
  return execFileSync('bash', ['--norc', '-c', script, 'guide', variables], {
    encoding: 'utf8',
    cwd: directory,
  });
}

const answer = (name: string, given?: Readonly<Record<string, string>>) =>
  JSON.parse(run(name, given)) as Record<string, string>;

const variable = (name: string) => runShell(`. "$1"; printf %s "$${name}"`);

/** Opens an address of the guide in a browser, signs in, and returns the last URL. */
function signIn(name: string): Promise<URL> {
  const url = block(`text ${name}`).trim();
  const asPasted = url.includes('$') ? url.replace('$CHALLENGE', variable('CHALLENGE')) : url;
  return authorizeAsUser(asPasted, alice);
}

describe('docs/applications.md', () => {
  let tokens: Record<string, string>;

  test('registers an application', () => {
    const commands = block('sh register').replace('add dashboard --org demo', 'add own --org acme');
    const printed = runCommands(commands, { STORE_URL: system.storeUrl, MASTER_KEY_FILE });
    expect(printed).toMatch(/\(shown once\): \S+/);
  });

  test('finds the addresses of the server', () => {
    expect(answer('discovery')).toMatchObject({ issuer: system.authorizationServerUrl });
  });

  test('signs a user in at a web application', async () => {
    run('verifier');
    const back = await signIn('web');
    expect(back.searchParams.get('state')).toBe('8f1c');
    expect(back.searchParams.get('iss')).toBe(system.authorizationServerUrl);
    const code = back.searchParams.get('code') ?? '';
    tokens = answer('redeem', { CODE: code });
    expect(Object.keys(tokens).sort()).toEqual([
      'access_token',
      'expires_in',
      'id_token',
      'refresh_token',
      'scope',
      'token_type',
    ]);
    const claims = JSON.parse(
      atob(tokens.id_token?.split('.')[1]?.replace(/-/g, '+').replace(/_/g, '/') ?? ''),
    );
    expect(claims.nonce).toBe('52a0');
  });

  test('gets the claims of the user', () => {
    const { access_token: token = '' } = tokens;
    expect(answer('userinfo', { ACCESS_TOKEN: token })).toMatchObject({
      preferred_username: 'alice',
    });
  });

  test('refreshes, and gets the same successor after a lost reply', () => {
    const before = tokens.refresh_token ?? '';
    tokens = answer('refresh', { REFRESH_TOKEN: before });
    expect(tokens.refresh_token).not.toBe(before);
    expect(answer('refresh', { REFRESH_TOKEN: before }).refresh_token).toBe(tokens.refresh_token);
  });

  test('calls the gateway with the token in the header and in the query', () => {
    const replies = run('call', { ACCESS_TOKEN: tokens.access_token ?? '' })
      .trim()
      .replace(/\}\{/g, '}\n{');
    const printed = replies.split('\n').map((line) => JSON.parse(line));
    expect(printed).toMatchObject([
      { status: 200, result: [] },
      { status: 200, result: [] },
    ]);
  });

  test('revokes the tokens', () => {
    const { access_token: accessToken = '', refresh_token: refreshToken = '' } = tokens;
    expect(answer('revoke', { REFRESH_TOKEN: refreshToken })).toEqual({});
    expect(answer('refresh', { REFRESH_TOKEN: refreshToken })).toMatchObject({
      error: 'invalid_grant',
    });
    expect(run('call', { ACCESS_TOKEN: accessToken })).toContain('"value":"expired"');
  });

  test('signs a user in with PKCE', async () => {
    run('verifier');
    const back = await signIn('public');
    const reply = answer('redeem-public', { CODE: back.searchParams.get('code') ?? '' });
    expect(reply).toMatchObject({ token_type: 'Bearer', refresh_token: expect.any(String) });
    const refreshed = answer('refresh-public', { REFRESH_TOKEN: reply.refresh_token ?? '' });
    expect(refreshed).toMatchObject({ token_type: 'Bearer', refresh_token: expect.any(String) });
  });

  test('gets a token for a machine, calls the gateway with it, and introspects it', () => {
    // The section of machines sets all the variables that it needs.
    writeFileSync(variables, '');
    const reply = answer('machine');
    expect(reply).toMatchObject({ token_type: 'Bearer', scope: 'device:read', expires_in: 7200 });
    expect(reply).not.toHaveProperty('refresh_token');
    const listed = answer('machine-call', { ACCESS_TOKEN: reply.access_token ?? '' });
    expect(listed).toMatchObject({ status: 200, result: [] });
    expect(answer('introspect')).toMatchObject({
      active: true,
      client_id: 'importer',
      org: 'acme',
    });
  });

  test('signs a device in', async () => {
    const reply = answer('device');
    const [, example = ''] = /```json\n(\{ "device_code"[\s\S]*?)```/.exec(guide.text) ?? [];
    const shown = JSON.parse(example);
    expect(Object.keys(reply).sort()).toEqual(Object.keys(shown).sort());
    expect([reply.expires_in, reply.interval]).toEqual([shown.expires_in, shown.interval]);
    expect(reply.verification_uri).toBe(`${system.authorizationServerUrl}/device`);
    const device = { DEVICE_CODE: reply.device_code ?? '' };
    expect(answer('poll', device)).toMatchObject({ error: 'authorization_pending' });
    expect((await createPageVisitor().get(reply.verification_uri_complete ?? '')).status).toBe(200);
  });

  test('uses the implicit flow and the password grant', async () => {
    expect(answer('password', { PASSWORD: alice.password })).toMatchObject({
      token_type: 'Bearer',
    });
    const { hash } = await signIn('implicit');
    const fragment = new URLSearchParams(hash.slice(1));
    expect([fragment.get('state'), fragment.get('expires_in')]).toEqual(['91b3', '600']);
    expect(answer('platform')).toMatchObject({
      token_type: 'Bearer',
      refresh_token: expect.any(String),
    });
  });
});
