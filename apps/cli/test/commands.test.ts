// requires: redis-server

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  codeOfApp,
  integrationEngines,
  type StoreEngine,
  startRedisServer,
  startStoreEngine,
} from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { commands } from '../src/cli.ts';
import { nameOf } from '../src/command-line/command.ts';
import { parseArguments } from '../src/command-line/parse-arguments.ts';
import { withCurrentName } from '../src/command-line/renamed-commands.ts';
import { runGatehouse } from './run-gatehouse.ts';

describe.each(integrationEngines)('gatehouse on %s', (engineName) => {
  let engine: StoreEngine;
  const directory = temporaryFolder();
  let environment: Record<string, string>;
  const temporaryOther = temporaryFolder();
  const masterKey = randomBytes(32);
  const gatehouse = (args: string, stdin?: Parameters<typeof runGatehouse>[2]) =>
    runGatehouse(environment, args.split(' '), stdin);
  const jsonOf = async (args: string) => (await gatehouse(`${args} --json`)).json;
  const codeOf = async (args: string, stdin?: string) => (await gatehouse(args, stdin)).code;

  beforeAll(async () => {
    engine = await startStoreEngine(engineName);
    const MASTER_KEY_FILE = writeMasterKey(directory, masterKey);
    environment = { STORE_URL: engine.storeUrl, MASTER_KEY_FILE, DATA_DIR: directory };
    await gatehouse('organizations add org-1 --name Example');
  });
  afterAll(async () => {
    await engine.stop();
  });

  async function withIdentity<Result>(
    work: (identity: ReturnType<typeof openIdentity>) => Promise<Result>,
  ): Promise<Result> {
    const store = createStore(engine.storeUrl);
    try {
      return await work(openIdentity({ store, masterKey }));
    } finally {
      await store.close();
    }
  }

  test('users change --reset-factors removes the second factors and ends the sessions', async () => {
    await gatehouse('users add factored --org org-1 --generate');
    const { userId } = (await jsonOf('users show factored')).user;
    expect((await gatehouse('users show factored')).output).toMatch(/authenticator app +none/);
    await withIdentity(async ({ factors, passkeys }) => {
      const secret = factors.newSecret();
      const added = { secret, isFirst: true };
      expect(await factors.enroll(userId, added, codeOfApp(secret))).toHaveLength(10);
      const passkey = { id: 'AAAA', publicKey: 'AAAA', counter: 0, name: 'Blue key' };
      const kind = { transports: [], isDeviceBound: true, isBackedUp: false };
      await passkeys.add(userId, { ...passkey, ...kind });
    });
    const shown = await gatehouse('users show factored');
    expect(shown.output).toMatch(/authenticator app +since .*\n+recovery codes +10/);
    expect(shown.output).toMatch(/passkey +Blue key, since/);
    expect(await jsonOf('users show factored')).toMatchObject({
      factors: { recoveryCodes: 10, passkeys: [{ name: 'Blue key', isBackedUp: false }] },
    });
    expect(await codeOf('users change factored --reset-factors')).not.toBe(0);
    const changed = await gatehouse('users change factored --reset-factors --yes');
    expect([changed.code, changed.output]).toEqual([
      0,
      expect.stringContaining('factored has no second factor'),
    ]);
    const { factors } = await jsonOf('users show factored');
    expect(factors).toEqual({ recoveryCodes: 0, passkeys: [] });
  });

  test('clients can have public keys in place of a secure key', async () => {
    const keyOf = (kid: string) => ({
      ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
      kid,
    });
    const file = (keys: readonly object[]) => {
      const path = join(temporaryOther, 'keys.json');
      writeFileSync(path, JSON.stringify({ keys }));
      return path;
    };
    const [one, two] = [keyOf('one'), keyOf('two')];
    const added = await jsonOf(`clients add asserting --org org-1 --jwks ${file([one, two])}`);
    expect(added).not.toHaveProperty('secureKey');
    expect(added.client).toMatchObject({ keys: [], jwks: { keys: [one, two] } });
    const [firstId, secondId] = added.client.publicKeyIds;
    // In base64url, one id in 64 would begin with a hyphen, as an option does.
    expect([firstId, secondId].join()).toMatch(/^[0-9a-f]{64},[0-9a-f]{64}$/);
    const shown = (await gatehouse('clients show asserting')).output;
    expect(shown).toMatch(new RegExp(`public key +${firstId}`));
    await gatehouse(`clients remove-key asserting ${firstId} --yes`);
    const { client } = await jsonOf('clients show asserting');
    expect(client.publicKeyIds).toEqual([secondId]);
    expect(await codeOf(`clients remove-key asserting ${secondId} --yes`)).toBe(1);
    const uri = 'https://client.example/jwks';
    const moved = (await jsonOf(`clients change asserting --jwks-uri ${uri}`)).client;
    expect([moved.jwks, moved.jwksUri]).toEqual([undefined, uri]);
    const { entries } = await jsonOf('audit list --client asserting');
    expect(entries).toContainEqual(
      expect.objectContaining({ change: 'key_removed', keyId: secondId }),
    );
    const secret = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const refused = await gatehouse(`clients change asserting --jwks ${file([secret])}`);
    expect(refused).toMatchObject({
      code: 2,
      errors: expect.stringContaining('--jwks: is a private'),
    });
    expect(refused.errors).not.toContain(secret.d);
    expect(
      await codeOf('clients add public --org org-1 --public --jwks-uri https://a.example/'),
    ).toBe(2);
  });

  test('organizations can be added once, and are listed', async () => {
    const organizations = [{ id: 'org-1', name: 'Example' }];
    expect(await jsonOf('organizations list')).toEqual({ organizations });
    expect(await codeOf('organizations add org-1')).toBe(1);
    expect(await codeOf('organizations add')).toBe(2);
  });

  describe('bootstrap apply', () => {
    const definition = (name: string) => ({
      organizations: [{ id: 'booted', name }],
      clients: [{ clientId: 'booted-client', secureKeyFile: 'booted.key', name, orgId: 'booted' }],
    });
    const apply = async (content: unknown) => {
      writeFileSync(join(directory, 'bootstrap.json'), JSON.stringify(content));
      writeFileSync(join(directory, 'booted.key'), 'Qx7Zw2Kp9TfR4mVs', { mode: 0o600 });
      return gatehouse(`bootstrap apply ${join(directory, 'bootstrap.json')} --json`);
    };

    test('adds what the file contains, changes it later, and records each run', async () => {
      expect(await apply(definition('First'))).toMatchObject({
        code: 0,
        json: { applied: { organizations: 1, clients: 1, users: 0 } },
      });
      expect(await apply(definition('Second'))).toMatchObject({ code: 0 });
      const { client } = await jsonOf('clients show booted-client');
      expect(client).toMatchObject({ name: 'Second', keys: [expect.anything()] });
      const trail = await jsonOf('audit list --event bootstrap_applied');
      expect(trail.entries).toHaveLength(2);
      expect(trail.entries[0]).toMatchObject({ organizations: 1, clients: 1, users: 0 });
    });

    test('declares resources and attributes, which other commands check', async () => {
      const scopes = { 'billing:read': { description: 'See invoices', roles: ['accountant'] } };
      const resource = { resource: 'https://billing.example', name: 'Billing', scopes };
      const userAttributes = {
        department: { type: 'string', scope: 'profile' },
        plants: { type: 'strings', scope: 'groups' },
      };
      expect(await codeOf('clients add biller --org org-1 --scope billing:read')).toBe(1);
      const lifetimes = { code: 60 };
      const browserHosts = [{ host: 'reports.example', name: 'Reports', enabled: true }];
      const { json } = await apply({
        ...{ resources: [resource], roles: ['support'], userAttributes, lifetimes, browserHosts },
      });
      const settings = ['resources', 'roles', 'userAttributes', 'lifetimes', 'browserHosts'];
      expect(json.applied).toMatchObject({ resources: 1, settings });
      const [applied] = (await jsonOf('audit list --event bootstrap_applied')).entries;
      expect(applied).toMatchObject({ resources: 1, settings });
      const again = await apply({ resources: [resource], lifetimes });
      expect(again.json.applied).toMatchObject({ resources: 1, settings: [] });
      expect(await jsonOf('resources list')).toEqual({
        resources: [resource],
        roles: ['support', 'accountant'],
        userAttributes,
        lifetimes: expect.objectContaining({ code: 60, accessToken: 7200 }),
        privateHosts: [],
        clientIdMetadata: { hosts: [], scopes: ['billing:read'] },
        browserHosts,
      });
      await apply({ resources: [{ ...resource, resource: 'https://a.example', scopes: {} }] });
      const { output } = await gatehouse('resources list');
      expect(output).toMatch(/^https:..a.example +Billing +none$/m);
      expect(output).toMatch(/^roles +support, accountant$/m);
      expect(output).toMatch(/^lifetimes.code +60$/m);
      expect(output).toMatch(/^browserHosts.0.host +reports.example$/m);
      const { client } = await jsonOf('clients add biller --org org-1 --scope billing:read');
      expect(client).toMatchObject({ defaultResource: 'https://billing.example' });

      const added = await jsonOf(
        'users add frank --org org-1 --generate --attribute department=Sales --attribute plants=7,8',
      );
      expect(added.user.attributes).toEqual({ department: 'Sales', plants: ['7', '8'] });
      const changed = await jsonOf('users change frank --attribute department=');
      expect(changed.user.attributes).toEqual({ plants: ['7', '8'] });
      expect(await codeOf('users change frank --attribute unknown=1')).toBe(1);
      expect(await codeOf('users change frank --attribute department')).toBe(2);
    });

    test('changes nothing if the file is invalid, and prints no secret', async () => {
      const invalid = { ...definition('Third'), users: [{ username: 'u', password: 'marker' }] };
      const { code, errors } = await apply(invalid);
      expect(code).toBe(1);
      expect(errors).toContain('BOOTSTRAP_FILE users.0');
      expect(errors).not.toMatch(/marker|Qx7Zw2Kp9TfR4mVs/);
      expect((await jsonOf('clients show booted-client')).client).toMatchObject({ name: 'Second' });
    });

    test('changes nothing if a scope, an attribute or an organization is not declared', async () => {
      const before = await jsonOf('resources list');
      const [client] = definition('Third').clients;
      const user = { username: 'u', password: 'Trombone-7 lake', name: 'U', orgId: 'booted' };
      const host = { host: 'new.example', name: 'New', orgId: 'unknown' };
      const files = [
        { clients: [client, { ...client, clientId: 'b', scopes: ['unknown:read'] }] },
        { users: [{ ...user, attributes: { unknown: 'x' } }] },
        { browserHosts: [host] },
      ];
      const said = ['clients.1.scopes: No resource declares', 'users.0.attributes: The', 'orgId'];
      for (const [i, file] of files.entries()) {
        const { code, errors } = await apply({ roles: ['new'], lifetimes: { code: 30 }, ...file });
        expect([code, errors]).toEqual([1, expect.stringContaining(said[i] ?? '')]);
      }
      expect(await jsonOf('resources list')).toEqual(before);
      expect((await jsonOf('clients show booted-client')).client).toMatchObject({ name: 'Second' });
    });
  });

  describe('clients', () => {
    test('get a secure key that works and that only the first command prints', async () => {
      const added = await gatehouse('clients add app-1 --org org-1 --scope device:read --json');
      expect(added.code).toBe(0);
      const { secureKey, client } = added.json;
      expect(secureKey).toMatch(/^[A-Za-z0-9]{32}$/);
      expect(client).toMatchObject({
        clientId: 'app-1',
        orgId: 'org-1',
        enabled: true,
        scopes: ['device:read'],
        signatureAlgorithm: 'SHA-256',
        grantTypes: ['client_credentials'],
        keys: [{ keyId: expect.any(String), createdAt: expect.any(Number) }],
      });
      const isRight = await withIdentity(async ({ clients }) =>
        clients.verifySecret(await clients.find('app-1'), secureKey),
      );
      expect(isRight).toBe(true);
      const shown = ['clients list', 'clients show app-1', 'audit list'];
      for (const args of shown.flatMap((command) => [command, `${command} --json`])) {
        const { output } = await gatehouse(args);
        expect(output).toContain('app-1');
        expect(output).not.toContain(secureKey);
        expect(output).not.toMatch(/sealed|passwordHash/);
      }
    });

    test('read a supplied key from standard input, and have no key if they are public', async () => {
      const add = 'clients add own --org org-1 --secure-key-stdin';
      for (const [key, problem] of [
        ['short', 'secureKey: must be 16 to 256'],
        ['aaaaaaaaaaaaaaaa', 'secureKey: is too easy to guess'],
      ] as const) {
        const { code, errors } = await gatehouse(add, `${key}\n`);
        expect([code, errors]).toEqual([2, expect.stringContaining(problem)]);
        expect(errors).not.toContain(`${key}\n`);
      }
      const own = await gatehouse(add, 'ownKey0123456789abc\n');
      expect(own).toMatchObject({ code: 0, output: 'Added the client own.\n' });
      const spa = await jsonOf(
        'clients add spa --org org-1 --public --grant-type authorization_code --redirect-uri https://spa.example/cb',
      );
      expect(spa).toMatchObject({ client: { public: true, keys: [] } });
      expect(spa).not.toHaveProperty('secureKey');
    });

    test('cannot have a redirect URI that a rule of the bootstrap file rejects', async () => {
      const add = 'clients add bad --org org-1 --grant-type authorization_code --redirect-uri';
      for (const more of [
        'https://rp.example/cb?code=1',
        'http://localhost:1/cb --grant-type implicit',
      ]) {
        const { code, errors } = await gatehouse(`${add} ${more}`);
        const problem = expect.stringContaining('--redirect-uri (entry 1): must');
        expect([code, errors]).toEqual([2, problem]);
      }
      const change = 'clients change own --redirect-uri https://*.rp.example/cb';
      expect(await codeOf(change)).toBe(2);
    });

    test('lose their keys by becoming public only after confirmation', async () => {
      await gatehouse(
        'clients add secretive --org org-1 --grant-type authorization_code --redirect-uri https://rp.example/cb',
      );
      const keys = async () => (await jsonOf('clients show secretive')).client.keys;
      const command = 'clients change secretive --public';
      const { code, errors } = await gatehouse(command);
      const question = 'This deletes the secure keys of secretive.';
      expect([code, errors]).toEqual([1, expect.stringContaining(question)]);
      expect(await keys()).toHaveLength(1);
      expect(await codeOf(`${command} --yes`)).toBe(0);
      expect(await keys()).toEqual([]);
      expect(await codeOf(`${command} --name Again`)).toBe(0);
    });

    test('change only in the settings that the command names', async () => {
      await gatehouse('clients add changing --org org-1 --scope device:read --scope device:log');
      const before = (await jsonOf('clients show changing')).client;
      const changed = async (options: string) =>
        (await jsonOf(`clients change changing ${options}`)).client;
      const after = { ...before, scopes: ['device:write'], firstParty: true };
      expect(await changed('--scope device:write --first-party')).toEqual(after);
      expect(await changed('--no-first-party --scope=')).toEqual({ ...before, scopes: [] });
      expect(await codeOf('clients change changing')).toBe(2);
    });

    test('lose a key by its id only after confirmation', async () => {
      const { keys } = (await jsonOf('clients add keys --org org-1')).client;
      const { keyId } = await jsonOf('clients rotate-key keys');
      const remove = `clients remove-key keys ${keys[0].keyId}`;
      const denied = await gatehouse(remove, { typed: ['n'] });
      expect(denied.errors).toMatch(
        /This deletes the secure key [\s\S]*\nNothing was changed\.\n$/,
      );
      const { client } = await jsonOf(`${remove} --yes`);
      expect(client).toMatchObject({ notBefore: 0, keys: [{ keyId }] });
    });
  });

  describe('users', () => {
    test('get a password from standard input, which no command prints', async () => {
      const password = 'a password with spaces ';
      const added = await gatehouse('users add alice --org org-1 --json', `${password}\n`);
      expect(added.json.user).toMatchObject({ username: 'alice', orgId: 'org-1', enabled: true });
      expect(added.output + added.errors).not.toContain(password);
      expect(await withIdentity(({ users }) => users.verify('alice', password))).toBeDefined();
      expect(await codeOf('users add ALICE --org org-1', 'another password')).toBe(1);
      const list = await gatehouse('users list');
      expect(list.output).toContain(added.json.user.userId);
      expect(list.output).not.toContain('argon2');
    });

    test('get a password that is typed twice and not shown', async () => {
      const password = 'typed password 1';
      const typed = { typed: [password, password] };
      const added = await gatehouse('users add typist --org org-1', typed);
      expect(added.output + added.errors).not.toContain('typed password');
      expect(added.errors).toContain('Password: ');
      expect(await withIdentity(({ users }) => users.verify('typist', password))).toBeDefined();
      const differ = { typed: [password, 'typed password 2'] };
      expect(await gatehouse('users password typist', differ)).toMatchObject({ code: 2 });
    });

    test('are invited with a link, which the servers mail if there is a mail server', async () => {
      const printed = await jsonOf('users invite Fay@Example.com --org org-1');
      expect(printed).toEqual({ link: expect.any(String), isMailed: false });
      const link = new URL(printed.link);
      expect(link.origin + link.pathname).toBe('http://localhost:9000/create-account');
      const token = link.searchParams.get('token') ?? '';
      const invitation = { kind: 'invite', orgId: 'org-1', email: 'Fay@Example.com' };
      await withIdentity(async ({ actionLinks, mails }) => {
        expect(await actionLinks.find('invite', token)).toEqual(invitation);
        expect(await mails.due('org-1')).toEqual([]);
      });
      await gatehouse('users invite fay@example.com --withdraw');
      const withMail = { ...environment, SMTP_URL: 'smtp://localhost' };
      const invite = ['users', 'invite', 'gus@example.com', '--org', 'org-1'];
      const { output } = await runGatehouse(withMail, invite);
      expect(output).toContain('sends it to gus@example.com');
      await withIdentity(async ({ mails }) => {
        const [mail] = await mails.due('org-1');
        const sent = mail && mails.open(mail);
        expect(sent).toMatchObject({ kind: 'invite', email: 'gus@example.com' });
        expect(output).toContain(sent?.kind === 'invite' ? sent.token : 'a token');
      });
    });

    test('have an address and roles, which a command changes', async () => {
      const added = await jsonOf(
        'users add erin --org org-1 --email erin@example.com --role admin --role viewer --generate',
      );
      const email = 'erin@example.com';
      const roles = ['admin', 'viewer'];
      const profile = { name: 'erin', email, emailVerified: false, roles };
      expect(added.user).toMatchObject(profile);
      for (const [options, change] of [
        ['--email-verified --name Erin', { email, emailVerified: true, name: 'Erin', roles }],
        ['--add-role ops --remove-role viewer', { emailVerified: true, roles: ['admin', 'ops'] }],
        ['--given-name E --family-name F', { name: 'Erin', givenName: 'E', familyName: 'F' }],
        ['--email e@example.com', { emailVerified: false }],
        ['--email= --role=', { emailVerified: false, roles: [] }],
      ] as const) {
        expect((await jsonOf(`users change erin ${options}`)).user).toMatchObject(change);
      }
      expect((await jsonOf('users show erin')).user).not.toHaveProperty('email');
      expect(await codeOf('users change erin')).toBe(2);
    });
  });

  describe('the audit trail', () => {
    test('lists every change once with its operator, and filters', async () => {
      await gatehouse('clients add audited --org org-1');
      const { keyId } = await jsonOf('clients rotate-key audited');
      await gatehouse(`clients remove-key audited ${keyId} --revoke --yes`);
      await gatehouse('clients change audited --disable --yes');
      const list = await jsonOf('audit list --client audited --since 5m');
      const entries = list.entries.toReversed();
      expect(entries.map(({ change }: { change: string }) => change)).toEqual([
        'added',
        'key_added',
        'key_removed',
        'revoked',
        'disabled',
      ]);
      expect(entries[1]).toEqual({
        id: expect.any(String),
        at: expect.any(String),
        event: 'client_changed',
        clientName: 'audited',
        severity: 'notice',
        outcome: 'success',
        clientId: 'audited',
        change: 'key_added',
        keyId,
        actor: 'cli',
        operator: expect.any(String),
      });
      await gatehouse('clients change audited --enable');
      const newest = await jsonOf('audit list --client audited --event client_changed --limit 1');
      expect(newest.entries).toMatchObject([{ change: 'enabled' }]);
    });

    test.each([
      ['clients', 'clients change NAME --disable'],
      ['clients', 'tokens revoke --client NAME'],
      ['users', 'users change NAME --disable'],
      ['users', 'tokens revoke --user NAME'],
    ])('of %s, %s changes nothing until it is confirmed', async (kind, pattern) => {
      const name = `asked-${pattern.length}`;
      const command = pattern.replace('NAME', name);
      await gatehouse(`${kind} add ${name} --org org-1${kind === 'users' ? ' --generate' : ''}`);
      const shown = async () => (await gatehouse(`${kind} show ${name} --json`)).output;
      const before = await shown();
      const piped = await gatehouse(command);
      expect(piped).toMatchObject({ code: 1, output: '' });
      expect(piped.errors).toContain('Add --yes to continue without a prompt: This ');
      for (const answer of ['', 'yesterday']) {
        const denied = await gatehouse(command, { typed: [answer] });
        expect(denied.code).toBe(1);
        expect(denied.errors).toMatch(/\nNothing was changed\.\n$/);
      }
      expect(await shown()).toBe(before);
      expect(await gatehouse(command, { typed: ['yes'] })).toMatchObject({ code: 0 });
      expect(await shown()).not.toBe(before);
    });

    test('issues a registration token, and revokes it', async () => {
      const options = '--org org-1 --scope device:read --redirect-host localhost';
      const issued = await jsonOf(`clients registration-token ${options} --count 5`);
      expect(issued).toMatchObject({ count: 5, validFor: 7, scopes: ['device:read'] });
      expect(await codeOf('tokens revoke --yes', `${issued.token}\n`)).toBe(0);
      expect(await codeOf('tokens revoke --yes', `${issued.token}\n`)).toBe(1);
      for (const wrong of [
        '--count 0',
        '--count 101',
        '--valid-for 366',
        '--scope unknown:scope',
      ]) {
        expect(await codeOf(`clients registration-token ${options} ${wrong}`)).not.toBe(0);
      }
      expect(await codeOf('clients registration-token --org org-1')).toBe(2);
      expect(await codeOf(`clients registration-token ${options} --org unknown`)).not.toBe(0);
    });

    test('records revoke all, which requires confirmation', async () => {
      expect(await codeOf('tokens revoke --all')).toBe(1);
      expect(await codeOf('tokens revoke --all --yes')).toBe(0);
      expect((await jsonOf('audit list --event everything_revoked')).entries).toHaveLength(1);
    });
  });

  test('a master key that does not fit the store is rejected before any change', async () => {
    const MASTER_KEY_FILE = writeMasterKey(temporaryOther);
    const args = ['clients', 'add', 'wrong', '--org', 'org-1'];
    const { code, errors } = await runGatehouse({ ...environment, MASTER_KEY_FILE }, args);
    expect(code).toBe(1);
    expect(errors).toContain('MASTER_KEY_FILE: names a key that differs from the master key');
  });
});

describe('calling gatehouse', () => {
  const nowhere = { DATA_DIR: join(tmpdir(), 'no-such-gatehouse') };
  const folder = temporaryFolder();
  const MASTER_KEY_FILE = writeMasterKey(folder);
  const embedded = { ...nowhere, MASTER_KEY_FILE, STORE_URL: `sqlite:${join(folder, 'store')}` };
  const names = commands.map(nameOf);

  test.each(names)('%s --help shows usage and an example that it accepts', async (name) => {
    const { code, output } = await runGatehouse(nowhere, [...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(output).toContain(`Usage: gatehouse ${name}`);
    const [, example = ''] = /Example:\n {2}gatehouse (.*)/.exec(output) ?? [];
    const words = [...example.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
    expect(parseArguments(words, commands)).toMatchObject({ help: undefined });
  });

  test('has at most 36 commands, and lists all of them without arguments', async () => {
    const { output } = await runGatehouse(nowhere, []);
    expect(names.filter((name) => !output.includes(`  ${name}`))).toEqual([]);
    expect(names.length).toBeLessThanOrEqual(36);
    expect(await runGatehouse(nowhere, ['help'])).toMatchObject({ code: 0, output });
    const group = await runGatehouse(nowhere, ['users', '--help']);
    expect(group.output).toContain('users password <username>');
    expect(group.output).not.toContain('clients');
    const one = await runGatehouse(nowhere, ['help', 'clients', 'add']);
    expect(one).toEqual(await runGatehouse(nowhere, ['clients', 'add', '--help']));
  });

  test.each([
    'clients',
    'clients explode marker',
    'clients marker',
    'clients show',
    'clients show a marker',
    'clients list --explode=marker',
    'clients list --json=marker',
    'audit list --since yesterday',
    'audit list --limit marker',
    'tokens revoke marker',
    'tokens revoke --all --client marker',
  ])('%s exits with 2 and quotes no value', async (args) => {
    const { code, errors, output } = await runGatehouse(embedded, args.split(' '));
    expect([code, output]).toEqual([2, '']);
    expect(errors).not.toMatch(/marker|yesterday/);
  });

  test.each([
    ['client lst', 'Did you mean gatehouse clients?'],
    ['users lis', 'Did you mean list?'],
    ['clients add a --redirect-uris b', 'Did you mean --redirect-uri?'],
    ['clients add a --name', "option '--name <name>' argument missing"],
    ['clients list --json=yes', "unknown option '--json=…'"],
    ['clients show', "missing required argument 'clientId'"],
  ])('%s gets a suggestion', async (args, suggestion) => {
    const { code, errors } = await runGatehouse(nowhere, args.split(' '));
    expect([code, errors]).toEqual([2, expect.stringContaining(suggestion)]);
  });

  test.each([
    ['revoke token', 'tokens revoke'],
    ['revoke client --yes x --json', 'tokens revoke --client x --yes --json'],
    ['users sign-out x', 'tokens revoke --user x'],
    ['revoke all --yes', 'tokens revoke --all --yes'],
    ['revoke replay f --since 1h', 'audit replay f --since 1h'],
    ['clients disable x --yes', 'clients change --disable x --yes'],
    ['users unlock x', 'users change --unlock x'],
    ['audit tail --client x', 'audit list --follow --client x'],
    ['audit tail --no-follow', 'audit list'],
    ['--json master-key add', 'master-key rotate --json'],
    ['backup folder', 'backup create folder'],
    ['restore folder', 'backup restore folder'],
  ])('%s still works for one release, as %s', (old, current) => {
    const warnings: string[] = [];
    const args = withCurrentName(old.split(' '), (warning) => warnings.push(warning));
    expect(args.join(' ')).toBe(current);
    expect(withCurrentName(args, (warning) => warnings.push(warning))).toEqual(args);
    expect(warnings).toEqual([expect.stringContaining(' is deprecated. Use gatehouse ')]);
    expect(parseArguments(args, commands)).toMatchObject({ help: undefined });
  });

  test('rejects a misspelled variable instead of changing the embedded store', async () => {
    const misspelled = { STORE_URL: '', STORE_URI: 'redis://marker', COOKIE_KEY_FILE: 'x' };
    const environment = { ...embedded, ...misspelled };
    const { code, errors, output } = await runGatehouse(environment, ['clients', 'list']);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toContain('STORE_URI: looks like a misspelling of STORE_URL');
    expect(errors).toContain('COOKIE_KEY_FILE: looks like a misspelling of COOKIE_KEYS_FILE');
    expect(errors).not.toContain('marker');
  });

  test('reports why the store is unavailable, without the password', async () => {
    const redis = await startRedisServer({ password: 'right-marker' });
    try {
      const STORE_URL = `redis://:wrong-marker@127.0.0.1:${redis.port}`;
      const environment = { ...embedded, STORE_URL };
      const { code, errors } = await runGatehouse(environment, ['clients', 'list']);
      expect(code).toBe(1);
      expect(errors).toContain('The store is unavailable. Redis replies WRONGPASS.');
      expect(errors).not.toContain('marker');
    } finally {
      await redis.stop();
    }
  });

  test('warns about a master key that others can read, and runs the command', async () => {
    const environment = { ...embedded, STORE_URL: `sqlite:${join(folder, 'warned')}` };
    const list = (...options: string[]) =>
      runGatehouse(environment, ['clients', 'list', ...options]);
    chmodSync(MASTER_KEY_FILE, 0o644);
    const warning = `MASTER_KEY_FILE: names a file with secrets that other users can access (mode 0644). Run: chmod 600 ${MASTER_KEY_FILE}`;
    expect(await list()).toMatchObject({ code: 0, errors: `Warning: ${warning}\n` });
    const asJson = await list('--json');
    expect([asJson.json, JSON.parse(asJson.errors)]).toEqual([{ clients: [] }, { warning }]);
    chmodSync(MASTER_KEY_FILE, 0o600);
    expect(await list()).toMatchObject({ code: 0, errors: '' });
  });
});
