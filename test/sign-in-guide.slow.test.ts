/**
 * Registers the clients as docs/sign-in-to-applications.md and docs/guides.md describe. Then
 * sends the requests of each application and reads the claims that it uses.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorizeAsUser, basic, newPkce } from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { codeBlock, readDocument } from './documents.ts';
import { runCommands } from './operators-commands.ts';
import { root } from './source-tree.ts';

const guide = readDocument('docs/sign-in-to-applications.md');
const directory = temporaryFolder();
const state = 'Zs81';
const nonce = '52a0';
const { verifier, pkce: challenge } = newPkce();
const alice = {
  name: 'Alice Example',
  preferred_username: 'alice',
  email: 'alice@example.com',
  email_verified: true,
  groups: ['grafana-admin', 'developers'],
};

const system = await startSystem({
  engine: 'sqlite',
  bootstrap: {},
  apps: ['authorization-server'],
});
const issuer = system.authorizationServerUrl;
const password = runBlock('users');

/** Runs a block of the page and returns the secret that it prints. */
function runBlock(name: string): string {
  const output = runCommands(codeBlock(guide, `sh ${name}`), system.commandEnvironment);
  return /\(shown once\): (\S+)/.exec(output)?.[1] ?? '';
}

/** The settings of an application, with the address of the server under test. */
function settings(name: string): string {
  return codeBlock(guide, name).replaceAll('https://auth.example', issuer);
}

/** Returns the value that the pattern finds in the settings. */
function findValue(text: string, pattern: RegExp): string {
  const [, value] = pattern.exec(text) ?? [];
  if (value === undefined) {
    throw new Error(`The settings on the page lack ${pattern}.`);
  }
  return value;
}

async function signIn(endpoint: string | undefined, parameters: Readonly<Record<string, string>>) {
  const query = { response_type: 'code', state, ...challenge, ...parameters };
  const url = `${endpoint}?${new URLSearchParams(query)}`;
  const landing = await authorizeAsUser(url, { username: 'alice', password });
  expect(landing.href.startsWith(`${parameters.redirect_uri}?`)).toBe(true);
  expect(landing.searchParams.get('state')).toBe(state);
  return landing.searchParams.get('code') ?? '';
}

/** Redeems a code with these credentials in the form, or in the header. */
async function postToken(
  endpoint: string | undefined,
  parameters: Readonly<Record<string, string>>,
  credentials: Readonly<Record<'client_id' | 'client_secret', string>>,
  inHeader = false,
) {
  const form = { grant_type: 'authorization_code', code_verifier: verifier, ...parameters };
  const { client_id, client_secret } = credentials;
  const reply = await fetch(endpoint ?? '', {
    method: 'POST',
    headers: inHeader ? { authorization: basic(client_id, client_secret) } : {},
    body: new URLSearchParams(inHeader ? form : { ...form, ...credentials }),
  });
  const body = (await reply.json()) as Record<string, string>;
  expect([reply.status, body.error_description]).toEqual([200, undefined]);
  return { accessToken: body.access_token ?? '', idToken: body.id_token ?? '' };
}

async function userinfo(endpoint: string | undefined, accessToken: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${accessToken}` };
  return (await fetch(endpoint ?? '', { headers })).json();
}

async function discover(url: string): Promise<Record<string, string>> {
  return (await (await fetch(url)).json()) as Record<string, string>;
}

async function verifiedClaims(idToken: string, audience: string) {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  return (await jwtVerify(idToken, keys, { issuer, audience })).payload;
}

describe('docs/sign-in-to-applications.md', () => {
  test('signs a user in to Grafana', async () => {
    const secret = registerGrafana();
    const ini = readFileSync(join(root, 'examples/grafana/grafana.ini'), 'utf8').replaceAll(
      'http://localhost:9000',
      issuer,
    );
    expect(ini).not.toContain('client_secret =');
    const setting = (name: string) => findValue(ini, new RegExp(`^${name} = (.+)$`, 'm'));
    const redirect_uri = `${setting('root_url')}login/generic_oauth`;
    const client_id = setting('client_id');
    const code = await signIn(setting('auth_url'), {
      access_type: 'online',
      client_id,
      redirect_uri,
      scope: setting('scopes'),
    });
    const credentials = { client_id, client_secret: secret };
    const form = { code, redirect_uri };
    const { accessToken, idToken } = await postToken(setting('token_url'), form, credentials, true);
    const claims = await verifiedClaims(idToken, client_id);
    expect(claims).toMatchObject(alice);
    expect(await userinfo(setting('api_url'), accessToken)).toMatchObject(alice);
    const claimNames = ['login_attribute_path', 'groups_attribute_path'].map(setting);
    expect(Object.keys(claims)).toEqual(expect.arrayContaining(claimNames));
    const role = findValue(setting('role_attribute_path'), /contains\(groups\[\*\], '([^']+)'\)/);
    expect(alice.groups).toContain(role);
  });

  test.each([
    ['the method of the page', false],
    ['the default method of GitLab', true],
  ])('signs a user in to GitLab with %s', async (_title, inHeader) => {
    const secret = inHeader ? rotateKey('gitlab') : runBlock('gitlab-client');
    const ruby = settings('ruby gitlab');
    const setting = (name: string) => findValue(ruby, new RegExp(`\\b${name}: "([^"]+)"`));
    const metadata = await discover(`${setting('issuer')}/.well-known/openid-configuration`);
    const redirect_uri = setting('redirect_uri');
    const client_id = setting('identifier');
    const scope = findValue(ruby, /scope: \[([^\]]+)\]/).replace(/[",]/g, '');
    const query = { client_id, redirect_uri, scope, nonce };
    const code = await signIn(metadata.authorization_endpoint, query);
    const { accessToken, idToken } = await postToken(
      metadata.token_endpoint,
      // The OmniAuth strategy repeats the scope in the token request.
      { code, redirect_uri, scope },
      { client_id, client_secret: secret },
      inHeader,
    );
    const claims = await verifiedClaims(idToken, client_id);
    expect(claims).toMatchObject({ nonce, ...alice });
    const info = await userinfo(metadata.userinfo_endpoint, accessToken);
    expect(info).toMatchObject({ sub: claims.sub, ...alice });
    expect(info).toHaveProperty(setting('uid_field'), 'alice');
    const groups = findValue(ruby, /required_groups: \["([^"]+)"\]/);
    expect(info).toHaveProperty(setting('groups_attribute'), expect.arrayContaining([groups]));
  });

  test('signs a user in to Nextcloud', async () => {
    const secret = runBlock('nextcloud-client');
    const command = settings('text nextcloud');
    const setting = (name: string) => findValue(command, new RegExp(`--${name}="?([^"\\s]+)`));
    const metadata = await discover(setting('discoveryuri'));
    const client_id = setting('clientid');
    const redirect_uri = 'https://cloud.example/apps/user_oidc/code';
    const wanted = { name: null, email: null, quota: null, groups: null };
    const requested = { ...wanted, preferred_username: { essential: true } };
    const code = await signIn(metadata.authorization_endpoint, {
      client_id,
      redirect_uri,
      nonce,
      scope: findValue(command, /--scope="([^"]+)"/),
      claims: JSON.stringify({ id_token: requested, userinfo: requested }),
    });
    const credentials = { client_id, client_secret: secret };
    const form = { code, redirect_uri };
    const { idToken } = await postToken(metadata.token_endpoint, form, credentials);
    const claims = await verifiedClaims(idToken, client_id);
    expect(claims).toMatchObject({ nonce, ...alice });
    const mapped = ['uid', 'display-name', 'email', 'groups'].map((name) =>
      setting(`mapping-${name}`),
    );
    expect(Object.keys(claims)).toEqual(expect.arrayContaining(mapped));
  });
});

/** Runs the commands of the guide, and returns the secure key in the file that they write. */
function registerGrafana(): string {
  const keyFile = join(directory, 'secure-key.txt');
  const commands = codeBlock(readDocument('docs/guides.md'), 'sh register-grafana')
    .replaceAll('examples/grafana/secure-key.txt', keyFile)
    .replaceAll('--org demo', '--org acme');
  runCommands(commands, system.commandEnvironment);
  return readFileSync(keyFile, 'utf8').trim();
}

function rotateKey(clientId: string): string {
  const command = `npm run -s gatehouse -- clients rotate-key ${clientId}`;
  return /\(shown once\): (\S+)/.exec(runCommands(command, system.commandEnvironment))?.[1] ?? '';
}
