/**
 * Registers the clients as docs/sign-in-to-applications.md and docs/guides.md describe. Then
 * sends the requests of each application and reads the claims that it uses.
 */

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorizeAsUser, basic, type Constellation, startConstellation } from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { codeBlock, readDocument } from './documents.ts';
import { runCommands } from './operators-commands.ts';
import { root } from './source-tree.ts';

const guide = readDocument('docs/sign-in-to-applications.md');
const directory = temporaryFolder();
const state = 'Zs81';
const nonce = '52a0';
const verifier = randomBytes(32).toString('base64url');
const challenge = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
};
const alice = {
  name: 'Alice Example',
  preferred_username: 'alice',
  email: 'alice@example.com',
  email_verified: true,
  groups: ['grafana-admin', 'developers'],
};

let system: Constellation;
let issuer: string;
let password: string;
let environment: Record<string, string>;

/** Runs a block of the page and returns the secret that it prints. */
function runBlock(name: string): string {
  const output = runCommands(codeBlock(guide, `sh ${name}`), environment);
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

async function signIn(endpoint: string, parameters: Readonly<Record<string, string>>) {
  const url = `${endpoint}?${new URLSearchParams({ response_type: 'code', state, ...parameters })}`;
  const landing = await authorizeAsUser(url, { username: 'alice', password });
  expect(landing.href.startsWith(`${parameters.redirect_uri}?`)).toBe(true);
  expect(landing.searchParams.get('state')).toBe(state);
  return landing.searchParams.get('code') ?? '';
}

async function postToken(
  endpoint: string,
  parameters: Readonly<Record<string, string>>,
  authorization?: string,
) {
  const reply = await fetch(endpoint, {
    method: 'POST',
    headers: authorization === undefined ? {} : { authorization },
    body: new URLSearchParams({ grant_type: 'authorization_code', ...parameters }),
  });
  const body = (await reply.json()) as Record<string, string>;
  expect([reply.status, body.error_description]).toEqual([200, undefined]);
  return { accessToken: body.access_token ?? '', idToken: body.id_token ?? '' };
}

async function userinfo(endpoint: string, accessToken: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${accessToken}` };
  return (await fetch(endpoint, { headers })).json();
}

async function discover(url: string): Promise<Record<string, string>> {
  return (await (await fetch(url)).json()) as Record<string, string>;
}

async function verifiedClaims(idToken: string, jwks: string, audience: string) {
  const keys = createRemoteJWKSet(new URL(jwks));
  return (await jwtVerify(idToken, keys, { issuer, audience })).payload;
}

beforeAll(async () => {
  const MASTER_KEY_FILE = writeMasterKey(directory);
  system = await startConstellation({
    engine: 'sqlite',
    bootstrap: {},
    apps: ['authorization-server'],
    environment: { MASTER_KEY_FILE },
  });
  issuer = system.authorizationServerUrl;
  environment = { STORE_URL: system.storeUrl, MASTER_KEY_FILE, DATA_DIR: directory };
  password = runBlock('users');
});
afterAll(async () => {
  await system.stop();
});

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
      ...challenge,
      scope: setting('scopes'),
    });
    const { accessToken, idToken } = await postToken(
      setting('token_url'),
      { code, redirect_uri, code_verifier: verifier },
      basic(client_id, secret),
    );
    const claims = await verifiedClaims(idToken, `${issuer}/jwks`, client_id);
    expect(claims).toMatchObject(alice);
    expect(await userinfo(setting('api_url'), accessToken)).toMatchObject(alice);
    const claimNames = ['login_attribute_path', 'groups_attribute_path'].map(setting);
    expect(Object.keys(claims)).toEqual(expect.arrayContaining(claimNames));
    const role = findValue(setting('role_attribute_path'), /contains\(groups\[\*\], '([^']+)'\)/);
    expect(alice.groups).toContain(role);
  });

  test.each([
    ['the method of the page', undefined],
    ['the default method of GitLab', 'basic'],
  ])('signs a user in to GitLab with %s', async (_title, method) => {
    const secret = method === undefined ? runBlock('gitlab-client') : rotateKey('gitlab');
    const ruby = settings('ruby gitlab');
    const setting = (name: string) => findValue(ruby, new RegExp(`\\b${name}: "([^"]+)"`));
    const metadata = await discover(`${setting('issuer')}/.well-known/openid-configuration`);
    const redirect_uri = setting('redirect_uri');
    const client_id = setting('identifier');
    const scope = findValue(ruby, /scope: \[([^\]]+)\]/).replace(/[",]/g, '');
    const code = await signIn(metadata.authorization_endpoint ?? '', {
      client_id,
      redirect_uri,
      scope,
      nonce,
      ...challenge,
    });
    // The OmniAuth strategy repeats the scope in the token request.
    const parameters = { code, redirect_uri, scope, code_verifier: verifier };
    const { accessToken, idToken } =
      method === undefined
        ? await postToken(metadata.token_endpoint ?? '', {
            ...parameters,
            client_id,
            client_secret: secret,
          })
        : await postToken(metadata.token_endpoint ?? '', parameters, basic(client_id, secret));
    const claims = await verifiedClaims(idToken, metadata.jwks_uri ?? '', client_id);
    expect(claims).toMatchObject({ nonce, ...alice });
    const info = await userinfo(metadata.userinfo_endpoint ?? '', accessToken);
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
    const code = await signIn(metadata.authorization_endpoint ?? '', {
      client_id,
      redirect_uri,
      nonce,
      ...challenge,
      scope: findValue(command, /--scope="([^"]+)"/),
      claims: JSON.stringify({ id_token: requested, userinfo: requested }),
    });
    const { idToken } = await postToken(metadata.token_endpoint ?? '', {
      code,
      redirect_uri,
      code_verifier: verifier,
      client_id,
      client_secret: secret,
    });
    const claims = await verifiedClaims(idToken, metadata.jwks_uri ?? '', client_id);
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
  runCommands(commands, environment);
  return readFileSync(keyFile, 'utf8').trim();
}

function rotateKey(clientId: string): string {
  const command = `npm run -s gatehouse -- clients rotate-key ${clientId}`;
  return /\(shown once\): (\S+)/.exec(runCommands(command, environment))?.[1] ?? '';
}
