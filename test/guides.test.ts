// requires: curl openssl
/** Runs every command of the guides for developers in order, as they paste them. */

import { execFileSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorizeAsUser, createPageVisitor, machineToken } from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { loadRouting } from '../apps/gateway/src/routes/route-file.ts';
import { bootstrapSchema } from '../packages/identity/src/bootstrap/bootstrap-schema.ts';
import { codeBlock, type Document, readDocument, section } from './documents.ts';
import { runCommands } from './operators-commands.ts';

const alice = { username: 'alice', password: 'a person’s password' };
const secureKey = 'dashboardKey0123456789ab';
const demo = {
  clientId: 'demo',
  secureKey,
  redirectUri: 'http://localhost:9010/callback',
  ...alice,
};
const codeGrants = ['authorization_code', 'refresh_token'];
const machine = { secureKey, grantTypes: ['client_credentials'] };
const client = (clientId: string, grantTypes: readonly string[], more: object) => ({
  ...{ clientId, name: clientId, orgId: 'acme', grantTypes },
  scopes: ['openid', 'profile', 'device:read'],
  ...more,
});
const forDevices = {
  ...machine,
  scopes: ['device:read', 'device:write', 'device:log', 'device:report'],
};

const system = await startSystem({
  engine: 'sqlite',
  bootstrap: {
    organizations: ['acme', 'demo', 'other'].map((id) => ({ id, name: id })),
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
      client('importer', [], machine),
      client('inventory', [], { secureKey, resourceServer: true }),
      client('sensor', ['urn:ietf:params:oauth:grant-type:device_code'], { public: true }),
      client('partner', ['password'], { secureKey }),
      client('old', ['implicit'], {
        redirectUris: ['https://old.example/callback'],
        public: true,
        scopes: ['device:read'],
      }),
      client('demo', [...codeGrants, 'client_credentials'], {
        ...{ secureKey, orgId: 'demo', redirectUris: [demo.redirectUri] },
        scopes: ['device:read', 'device:write'],
      }),
      client('devices', [], { ...forDevices, orgId: 'acme' }),
      client('strangers', [], { ...forDevices, orgId: 'other' }),
    ],
  },
});
const directory = temporaryFolder();
/** The variables and functions that earlier commands defined in the shell. */
const session = join(directory, 'session');
writeFileSync(session, '');
writeFileSync(join(directory, 'key.txt'), `${secureKey}\n`);
writeFileSync(join(directory, 'demo.json'), JSON.stringify(demo, null, 2));

const withAddresses = (text: string) =>
  text
    .replaceAll('http://localhost:9000', system.authorizationServerUrl)
    .replaceAll('http://localhost:8844', system.gatewayUrl)
    .replaceAll('data/demo.json', join(directory, 'demo.json'));

function runShell(script: string): string {
  const options = { encoding: 'utf8', cwd: directory } as const;
  return execFileSync('bash', ['--norc', '-c', script, 'guide', session], options);
}

/** The commands of a guide, each of which runs after the earlier ones. */
function openGuide(guide: Document) {
  const block = (heading: string) => withAddresses(codeBlock(guide, heading));
  return {
    block,
    run(name: string, given: Readonly<Record<string, string>> = {}): string {
      const assignments = Object.entries(given).map(([key, value]) => `export ${key}='${value}'\n`);
      appendFileSync(session, assignments.join(''));
      const save = 'export -p > "$1"; declare -f >> "$1"';
      return runShell(`set -eua\n. "$1"\n${block(`sh ${name}`)}\n${save}`);
    },
  };
}

describe('docs/applications.md', () => {
  const guide = readDocument('docs/applications.md');
  const { block, run } = openGuide(guide);
  let tokens: Record<string, string>;

  const answer = (name: string, given?: Readonly<Record<string, string>>) =>
    JSON.parse(run(name, given)) as Record<string, string>;

  /** Opens an address of the guide in a browser, signs in, and returns the last URL. */
  function signIn(name: string): Promise<URL> {
    const challenge = () => runShell('. "$1"; printf %s "$CHALLENGE"');
    return authorizeAsUser(block(`text ${name}`).trim().replace('$CHALLENGE', challenge), alice);
  }

  beforeAll(() => writeFileSync(session, ''));

  test('registers an application', () => {
    const commands = block('sh register').replace('add dashboard --org demo', 'add own --org acme');
    expect(runCommands(commands, system.commandEnvironment)).toMatch(/\(shown once\): \S+/);
  });

  test('finds the addresses of the server', () => {
    expect(answer('discovery')).toMatchObject({ issuer: system.authorizationServerUrl });
  });

  test('registers a client with the token of an operator', () => {
    const issued = runCommands(block('sh registration-token'), system.commandEnvironment);
    const [, token = ''] = /\(shown once\): (\S+)/.exec(issued) ?? [];
    const registered = answer('registration', { REGISTRATION_TOKEN: token });
    expect(registered).toMatchObject({ client_name: 'Agent', scope: 'device:read' });
  });

  test('signs a user in at a web application', async () => {
    run('verifier');
    const back = await signIn('web');
    expect(back.searchParams.get('state')).toBe('8f1c');
    expect(back.searchParams.get('iss')).toBe(system.authorizationServerUrl);
    tokens = answer('redeem', { CODE: back.searchParams.get('code') ?? '' });
    expect(Object.keys(tokens).sort()).toEqual([
      ...['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'],
    ]);
    const claims = Buffer.from(tokens.id_token?.split('.')[1] ?? '', 'base64url').toString();
    expect(JSON.parse(claims).nonce).toBe('52a0');
  });

  test('gets the claims of the user', () => {
    const claims = answer('userinfo', { ACCESS_TOKEN: tokens.access_token ?? '' });
    expect(claims).toMatchObject({ preferred_username: 'alice' });
  });

  test('refreshes, and gets the same successor after a lost reply', () => {
    const before = tokens.refresh_token ?? '';
    tokens = answer('refresh', { REFRESH_TOKEN: before });
    expect(tokens.refresh_token).not.toBe(before);
    expect(answer('refresh', { REFRESH_TOKEN: before }).refresh_token).toBe(tokens.refresh_token);
  });

  test('calls the gateway with the token in the header and in the query', () => {
    const replies = run('call', { ACCESS_TOKEN: tokens.access_token ?? '' }).trim();
    const listed = { status: 200, result: [] };
    expect(JSON.parse(`[${replies.replace(/\}\s*\{/g, '},{')}]`)).toMatchObject([listed, listed]);
  });

  test('revokes the tokens', () => {
    const { access_token: accessToken = '', refresh_token: refreshToken = '' } = tokens;
    const given = { REFRESH_TOKEN: refreshToken };
    expect(answer('revoke', given)).toEqual({});
    expect(answer('refresh', given)).toMatchObject({ error: 'invalid_grant' });
    expect(run('call', { ACCESS_TOKEN: accessToken })).toContain('"value":"expired"');
  });

  test('signs a user in with PKCE', async () => {
    run('verifier');
    const back = await signIn('public');
    const renewable = { token_type: 'Bearer', refresh_token: expect.any(String) };
    const reply = answer('redeem-public', { CODE: back.searchParams.get('code') ?? '' });
    expect(reply).toMatchObject(renewable);
    const refreshed = answer('refresh-public', { REFRESH_TOKEN: reply.refresh_token ?? '' });
    expect(refreshed).toMatchObject(renewable);
  });

  test('gets a token for a machine, calls the gateway with it, and introspects it', () => {
    // The section of machines sets all the variables that it needs.
    writeFileSync(session, '');
    const reply = answer('machine');
    expect(reply).toMatchObject({ token_type: 'Bearer', scope: 'device:read', expires_in: 7200 });
    expect(reply).not.toHaveProperty('refresh_token');
    const listed = answer('machine-call', { ACCESS_TOKEN: reply.access_token ?? '' });
    expect(listed).toMatchObject({ status: 200, result: [] });
    const state = { active: true, client_id: 'importer', org: 'acme' };
    expect(answer('introspect')).toMatchObject(state);
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
    const bearer = { token_type: 'Bearer' };
    expect(answer('password', { PASSWORD: alice.password })).toMatchObject(bearer);
    const fragment = new URLSearchParams((await signIn('implicit')).hash.slice(1));
    expect([fragment.get('state'), fragment.get('expires_in')]).toEqual(['91b3', '600']);
    expect(answer('platform')).toMatchObject({ ...bearer, refresh_token: expect.any(String) });
  });
});

interface Envelope {
  readonly status: number;
  readonly code: string;
  readonly timestamp: number;
  readonly result?: unknown;
}

/** The JSON of each line that contains an envelope. */
const envelopesIn = (output: string) =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Envelope);

describe('docs/devices.md', () => {
  const { block, run } = openGuide(readDocument('docs/devices.md'));
  const answers = (name: string) => envelopesIn(run(name));
  const results = (name: string) => answers(name).map(({ result }) => result);
  const shown = (name: string) => JSON.parse(block(`json ${name}`));
  const state = (value: string) => ({ state: expect.objectContaining({ value }) });

  beforeAll(async () => {
    writeFileSync(session, '');
    const [own, other] = ['devices', 'strangers'].map((id) => machineToken(system, secureKey, id));
    run('setup', { ACCESS_TOKEN: (await own) ?? '', OTHER_TOKEN: (await other) ?? '' });
  });

  test('creates a device, and shows the stored device', () => {
    const [reply] = answers('create');
    const times = { createTime: expect.any(Number), registerTime: expect.any(Number) };
    expect(reply).toEqual({
      ...shown('envelope'),
      timestamp: expect.any(Number),
      result: { ...shown('stored'), ...times },
    });
    expect(answers('create')).toMatchObject([{ status: 400, code: 'duplicate_key' }]);
  });

  test('deploys, connects and disconnects it', () => {
    const [deployed, , connected, , disconnected] = results('connect');
    const never = { onlineTime: 0, offlineTime: 0 };
    expect(deployed).toMatchObject({ ...state('offline'), ...never, address: '/' });
    expect(connected).toMatchObject({ ...state('online'), address: '192.0.2.7:1883' });
    expect(disconnected).toMatchObject({ ...state('offline'), address: '192.0.2.7:1883' });
    expect(disconnected).not.toMatchObject({ offlineTime: 0 });
  });

  test('deletes it only while it is notActive', () => {
    const replies = answers('delete');
    expect(replies).toMatchObject([
      { status: 400, code: 'illegal_argument', result: [{ property: 'state' }] },
      { status: 200, result: state('notActive') },
      { status: 200 },
    ]);
    expect(replies[2]).not.toHaveProperty('result');
  });

  test('creates many, and reports failures', () => {
    expect(results('batch')).toEqual([shown('batched')]);
  });

  test('changes only the given members', () => {
    expect(results('update')).toMatchObject([
      { name: 'Second pump', configuration: { isHexLog: 'true' } },
    ]);
  });

  test('queries with a body, with parameters and with a text, and counts', () => {
    const output = run('query');
    const [body, parameters, text, list, count] = envelopesIn(output).map(({ result }) => result);
    expect(body).toMatchObject({ pageIndex: 0, pageSize: 10, total: 1, data: [{ id: 'pump-2' }] });
    expect([parameters, text]).toEqual([body, body]);
    expect(list).toEqual([{ id: 'pump-2', name: 'Second pump', ...state('notActive') }]);
    expect(output).toMatch(/^x-total-count: 2\r$/im);
    expect(count).toBe(2);
  });

  test('finds the same devices with terms and with a text', () => {
    const [terms, text] = results('terms');
    expect(terms).toMatchObject({ total: 1, data: [{ id: 'pump-2' }] });
    expect(text).toEqual(terms);
  });

  test('shows the reply to an invalid query', () => {
    expect(answers('refused')).toEqual([{ ...shown('refusal'), timestamp: expect.any(Number) }]);
  });

  test('sets, lists and removes a tag', () => {
    const [set, listed, removed] = answers('tags');
    const tag = { id: 'pump-2:site', name: 'site', value: 'Hall 4', type: 'string' };
    expect(set?.result).toMatchObject([tag]);
    expect(listed?.result).toEqual(set?.result);
    expect(removed).toMatchObject({ status: 200 });
    expect(removed).not.toHaveProperty('result');
  });

  test('reports to the log and reads it', () => {
    const output = run('report');
    const [one, many, newest, found] = envelopesIn(output).map(({ result }) => result);
    const own = { id: expect.any(String), createTime: expect.any(Number) };
    expect(one).toEqual({ ...shown('record'), ...own, timestamp: expect.any(Number) });
    expect(many).toMatchObject([{ content: 'too hot' }, { content: 'cooled down' }]);
    expect(newest).toMatchObject([{ content: 'cooled down' }, { content: 'too hot' }]);
    expect(output).toMatch(/^x-total-count: 3\r$/im);
    expect(found).toMatchObject({ total: 1, data: [one] });
  });

  test('changes a product for its devices', () => {
    const [changed, read, found, device] = results('products');
    expect(changed).toMatchObject({ id: 'pump', protocol: 'mqtt', transport: 'TCP' });
    expect(read).toEqual(changed);
    expect(found).toMatchObject({ total: 1, data: [{ id: 'pump' }] });
    expect(found).not.toMatchObject({ data: [{ orgId: 'acme' }] });
    const deviceType = { value: 'gateway' };
    expect(device).toMatchObject({ protocol: 'mqtt', transport: 'TCP', deviceType });
  });

  test('shows nothing of another organization', () => {
    expect(answers('elsewhere')).toMatchObject([
      { status: 404, code: 'not_found' },
      { status: 200, result: { id: 'pump-2', name: 'Ours', orgId: 'other' } },
    ]);
  });
});

describe('the first steps', () => {
  const commandsUnder = (path: string, heading: string) =>
    withAddresses(section(readDocument(path), heading));
  const shellBlocks = (text: string) =>
    [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, commands = '']) => commands);
  const paste = (commands: readonly string[]) =>
    runShell(`set -eu\n${commands.join('\n')}`)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const listed = { status: 200, code: 'success', result: [] };

  test('README.md lists the devices with one paste', () => {
    const [, call = ''] = shellBlocks(commandsUnder('README.md', 'Start'));
    expect(paste([call])).toMatchObject([listed]);
  });

  test('docs/getting-started.md uses every kind of credential', async () => {
    const text = commandsUnder('docs/getting-started.md', 'Call it');
    const signIn = /```text\n(.+)\n```/.exec(text)?.[1] ?? '';
    const code = (await authorizeAsUser(signIn, demo)).searchParams.get('code') ?? '';
    const [variables = '', ...calls] = shellBlocks(text).map((commands) =>
      commands.replace(/<the code [^>]*>/, code),
    );
    expect(paste([variables, ...calls.flatMap((call) => [call, 'echo'])])).toMatchObject([
      listed,
      listed,
      listed,
      { status: 200, result: { id: 'meter-1', productName: 'Meter' } },
      { token_type: 'Bearer', access_token: expect.any(String) },
    ]);
  });
});

describe('the files that documents show', () => {
  test('the bootstrap file of docs/configuration.md is valid', () => {
    const page = readDocument('docs/configuration.md');
    const json = /```json\n([\s\S]*?)```/.exec(section(page, 'Bootstrap file'))?.[1] ?? '';
    const withSecrets = json
      .replace('"secureKeyFile": "web.key"', '"secureKey": "aQ3xV7mK9pT2wZ5r"')
      .replace('"passwordFile": "alice.password"', '"password": "a good password"');
    expect(bootstrapSchema.safeParse(JSON.parse(withSecrets)).error?.issues).toBeUndefined();
  });

  test('the gateway accepts the route file of docs/routes.md', () => {
    const path = join(directory, 'routes.json');
    writeFileSync(path, codeBlock(readDocument('docs/routes.md'), 'json'));
    const { routes, upstreams } = loadRouting(path, { url: 'http://localhost:8850' });
    const own = routes.filter(({ upstream }) => upstream === 'telemetry');
    expect(own.map(({ operation, streaming }) => [operation, streaming])).toEqual([
      ['telemetry.read', false],
      ['telemetry.follow', true],
    ]);
    expect(upstreams.get('telemetry')).toMatchObject({ url: 'http://telemetry:8860' });
  });
});
