// requires: redis-server

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
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
  const masterKey = randomBytes(32);
  const gatehouse = (args: string, stdin?: Parameters<typeof runGatehouse>[2]) =>
    runGatehouse(environment, args.split(' '), stdin);

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

  describe('organizations', () => {
    test('can be added once, and are listed', async () => {
      expect((await gatehouse('organizations list --json')).json).toEqual({
        organizations: [{ id: 'org-1', name: 'Example' }],
      });
      expect(await gatehouse('organizations add org-1')).toMatchObject({ code: 1 });
      expect(await gatehouse('organizations add')).toMatchObject({ code: 2 });
    });
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
      const { json } = await gatehouse('clients show booted-client --json');
      expect(json.client).toMatchObject({ name: 'Second', keys: [expect.anything()] });
      const { json: trail } = await gatehouse('audit list --event bootstrap_applied --json');
      expect(trail.entries).toHaveLength(2);
      expect(trail.entries[0]).toMatchObject({ organizations: 1, clients: 1, users: 0 });
    });

    test('changes nothing if the file is invalid, and prints no secret', async () => {
      const invalid = { ...definition('Third'), users: [{ username: 'u', password: 'marker' }] };
      const { code, errors } = await apply(invalid);
      expect(code).toBe(1);
      expect(errors).toContain('BOOTSTRAP_FILE users.0');
      expect(errors).not.toMatch(/marker|Qx7Zw2Kp9TfR4mVs/);
      const { json } = await gatehouse('clients show booted-client --json');
      expect(json.client).toMatchObject({ name: 'Second' });
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
      for (const args of [
        'clients list',
        'clients list --json',
        'clients show app-1',
        'clients show app-1 --json',
        'audit list --json',
      ]) {
        const { output } = await gatehouse(args);
        expect(output).toContain('app-1');
        expect(output).not.toContain(secureKey);
        expect(output).not.toMatch(/sealed|passwordHash/);
      }
    });

    test('read a supplied key from standard input, and have no key if they are public', async () => {
      const own = await gatehouse(
        'clients add own --org org-1 --secure-key-stdin',
        'ownKey0123456789abc\n',
      );
      expect(own).toMatchObject({ code: 0, output: 'Added the client own.\n' });
      const weak = await gatehouse('clients add weak --org org-1 --secure-key-stdin', 'short\n');
      expect(weak.code).toBe(2);
      expect(weak.errors).toContain('secureKey: must be 16 to 256');
      expect(weak.errors).not.toContain('short\n');
      const guessable = await gatehouse(
        'clients add weak --org org-1 --secure-key-stdin',
        'aaaaaaaaaaaaaaaa\n',
      );
      expect(guessable).toMatchObject({ code: 2 });
      expect(guessable.errors).toContain('secureKey: is too easy to guess');
      expect(guessable.errors).toContain('openssl rand -hex 32');
      const spa = await gatehouse(
        'clients add spa --org org-1 --public --grant-type authorization_code --redirect-uri https://spa.example/cb --json',
      );
      expect(spa.json).toMatchObject({ client: { public: true, keys: [] } });
      expect(spa.json).not.toHaveProperty('secureKey');
    });

    test('cannot have a redirect URI that a rule of the bootstrap file rejects', async () => {
      const add = 'clients add bad --org org-1 --grant-type authorization_code --redirect-uri';
      for (const more of [
        'https://rp.example/cb?code=1',
        'http://localhost:1/cb --grant-type implicit',
      ]) {
        const { code, errors } = await gatehouse(`${add} ${more}`);
        expect([code, errors]).toEqual([
          2,
          expect.stringContaining('--redirect-uri (entry 1): must'),
        ]);
      }
      const changed = await gatehouse('clients change own --redirect-uri https://*.rp.example/cb');
      expect(changed.code).toBe(2);
    });

    test('lose their keys by becoming public only after confirmation', async () => {
      await gatehouse(
        'clients add secretive --org org-1 --grant-type authorization_code --redirect-uri https://rp.example/cb',
      );
      const keys = async () => (await gatehouse('clients show secretive --json')).json.client.keys;
      const command = 'clients change secretive --public';
      const unsure = await gatehouse(command);
      expect(unsure.code).toBe(1);
      expect(unsure.errors).toContain(
        'Add --yes to continue without a prompt: A public client has no secure key. This deletes the secure keys of secretive.',
      );
      const denied = await runGatehouse(environment, command.split(' '), { typed: ['n'] });
      expect(denied.code).toBe(1);
      expect(await keys()).toHaveLength(1);
      expect((await gatehouse(`${command} --yes`)).code).toBe(0);
      expect(await keys()).toEqual([]);
      expect((await gatehouse('clients change secretive --public --name Again')).code).toBe(0);
    });

    test('change only in the settings that the command names', async () => {
      await gatehouse('clients add changing --org org-1 --scope device:read --scope device:log');
      const before = (await gatehouse('clients show changing --json')).json.client;
      const after = (
        await gatehouse('clients change changing --scope device:write --first-party --json')
      ).json.client;
      expect(after).toEqual({ ...before, scopes: ['device:write'], firstParty: true });
      const back = await runGatehouse(environment, [
        'clients',
        'change',
        'changing',
        '--no-first-party',
        '--scope',
        '',
        '--json',
      ]);
      expect(back.json.client).toEqual({ ...before, scopes: [] });
      expect(await gatehouse('clients change changing')).toMatchObject({ code: 2 });
      expect(await gatehouse('clients change nobody --name x')).toMatchObject({ code: 1 });
      expect(await gatehouse('clients change changing --org nowhere')).toMatchObject({ code: 1 });
      expect(await gatehouse('clients add changing --org org-1')).toMatchObject({ code: 1 });
    });

    test('can be disabled, which revokes their tokens for good, and enabled again', async () => {
      await gatehouse('clients add off --org org-1');
      const { json } = await gatehouse('clients change off --disable --yes --json');
      expect(json.client).toMatchObject({ enabled: false, notBefore: expect.any(Number) });
      expect(json.client.notBefore).toBeGreaterThan(Date.now() / 1000 - 60);
      const { client } = (await gatehouse('clients change off --enable --json')).json;
      expect(client).toMatchObject({ enabled: true, notBefore: json.client.notBefore });
      expect(await gatehouse('clients change nobody --disable --yes')).toMatchObject({ code: 1 });
    });

    test('can get new keys and lose a key by its id', async () => {
      const added = (await gatehouse('clients add keys --org org-1 --json')).json;
      const rotated = (await gatehouse('clients rotate-key keys --json')).json;
      expect(rotated.secureKey).not.toBe(added.secureKey);
      expect(rotated.client.keys).toHaveLength(2);
      const third = await gatehouse('clients rotate-key keys');
      expect(third).toMatchObject({ code: 1, output: '' });
      const [{ keyId: oldest }] = added.client.keys;
      expect(third.errors).toContain(oldest);
      const denied = await gatehouse(`clients remove-key keys ${oldest}`, { typed: ['n'] });
      expect([denied.code, denied.errors]).toEqual([
        1,
        expect.stringMatching(/This deletes the secure key [\s\S]*\nNothing was changed\.\n$/),
      ]);
      const removed = await gatehouse(`clients remove-key keys ${oldest} --json --yes`);
      expect(removed.json.client).toMatchObject({ notBefore: 0, keys: [{ keyId: rotated.keyId }] });
      await gatehouse('clients rotate-key keys');
      const revoked = await gatehouse(
        `clients remove-key keys ${rotated.keyId} --revoke --json --yes`,
      );
      expect(revoked.json.client.notBefore).toBeGreaterThan(0);
    });
  });

  describe('users', () => {
    test('get a password from standard input, which no command prints', async () => {
      const password = 'a password with spaces ';
      const added = await gatehouse('users add alice --org org-1 --json', `${password}\n`);
      expect(added.json.user).toMatchObject({ username: 'alice', orgId: 'org-1', enabled: true });
      expect(added.output + added.errors).not.toContain(password);
      expect(await withIdentity(({ users }) => users.verify('alice', password))).toBeDefined();
      expect(await gatehouse('users add ALICE --org org-1', 'another password')).toMatchObject({
        code: 1,
      });
      const list = await gatehouse('users list');
      expect(list.output).toContain(added.json.user.userId);
      expect(list.output).not.toContain('argon2');
    });

    test('get a password that is typed twice and not shown', async () => {
      const typed = { typed: ['typed password 1', 'typed password 1'] };
      const added = await gatehouse('users add typist --org org-1', typed);
      expect(added).toMatchObject({ code: 0 });
      expect(added.output + added.errors).not.toContain('typed password');
      expect(added.errors).toContain('Password: ');
      expect(
        await withIdentity(({ users }) => users.verify('typist', 'typed password 1')),
      ).toBeDefined();
      const differ = { typed: ['typed password 1', 'typed password 2'] };
      expect(await gatehouse('users password typist', differ)).toMatchObject({ code: 2 });
    });

    test('get a new password, generated or supplied, which signs them out', async () => {
      await gatehouse('users add bob --org org-1', 'first password');
      const { json } = await gatehouse('users password bob --generate --json');
      expect(json.password).toMatch(/^[A-Za-z0-9]{20}$/);
      expect(json.user.notBefore).toBeGreaterThan(0);
      expect(await withIdentity(({ users }) => users.verify('bob', json.password))).toBeDefined();
      expect(
        await withIdentity(({ users }) => users.verify('bob', 'first password')),
      ).toBeUndefined();
      expect(await gatehouse('users password bob', 'short')).toMatchObject({ code: 2 });
      expect(await gatehouse('users password bob', '')).toMatchObject({ code: 2 });
      expect(await gatehouse('users password nobody', 'a password')).toMatchObject({ code: 1 });
    });

    test('have an address and roles, which a command changes', async () => {
      const added = await gatehouse(
        'users add erin --org org-1 --email erin@example.com --role admin --role viewer --generate --json',
      );
      const profile = {
        email: 'erin@example.com',
        emailVerified: false,
        roles: ['admin', 'viewer'],
      };
      expect(added.json.user).toMatchObject({ ...profile, name: 'erin' });
      const changed = async (options: string) =>
        (await gatehouse(`users change erin ${options} --json`)).json.user;
      expect(await changed('--email-verified --name Erin')).toMatchObject({
        ...profile,
        emailVerified: true,
        name: 'Erin',
      });
      expect(await changed('--add-role ops --remove-role viewer')).toMatchObject({
        email: profile.email,
        emailVerified: true,
        roles: ['admin', 'ops'],
      });
      expect(await changed('--given-name Erin --family-name Example')).toMatchObject({
        name: 'Erin',
        givenName: 'Erin',
        familyName: 'Example',
      });
      expect(await changed('--email e@example.com')).toMatchObject({ emailVerified: false });
      const { email, ...others } = await changed('--email= --role=');
      expect(email).toBeUndefined();
      expect(others).toMatchObject({ emailVerified: false, roles: [] });
      for (const [options, code] of [
        ['', 2],
        ['--email nobody', 2],
        ['--email-verified', 1],
        ['--remove-role ops', 1],
      ] as const) {
        const rejected = await gatehouse(`users change erin ${options}`.trim());
        expect(rejected).toMatchObject({ code });
      }
    });
  });

  describe('the audit trail', () => {
    test('lists every change once with its operator, and filters', async () => {
      await gatehouse('clients add audited --org org-1');
      const { keyId } = (await gatehouse('clients rotate-key audited --json')).json;
      await gatehouse(`clients remove-key audited ${keyId} --revoke --yes`);
      await gatehouse('clients change audited --disable --yes');
      const list = await gatehouse('audit list --client audited --since 5m --json');
      const entries = list.json.entries.toReversed();
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
      const byUser = await gatehouse(
        'audit list --user carol --event user_changed --limit 2 --json',
      );
      expect(byUser.json.entries).toMatchObject([{ change: 'revoked' }, { change: 'enabled' }]);
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
      for (const answer of ['n', '', 'yesterday']) {
        const denied = await gatehouse(command, { typed: [answer] });
        expect(denied.code).toBe(1);
        expect(denied.errors).toMatch(/\nNothing was changed\.\n$/);
      }
      expect(await shown()).toBe(before);
      const confirmed = await gatehouse(command, { typed: ['yes'] });
      expect(confirmed).toMatchObject({ code: 0 });
      expect(confirmed.errors).toContain('Continue? [y/N]');
      expect(await shown()).not.toBe(before);
    });

    test('records revoke all, which requires confirmation', async () => {
      expect(await gatehouse('tokens revoke --all')).toMatchObject({ code: 1 });
      expect(await gatehouse('tokens revoke --all --yes')).toMatchObject({ code: 0 });
      const { json } = await gatehouse('audit list --event everything_revoked --json');
      expect(json.entries).toHaveLength(1);
    });
  });

  test('a master key that does not fit the store is rejected before any change', async () => {
    const other = join(directory, 'other.key');
    writeFileSync(other, randomBytes(32).toString('hex'), { mode: 0o600 });
    const refused = await runGatehouse({ ...environment, MASTER_KEY_FILE: other }, [
      'clients',
      'add',
      'wrong',
      '--org',
      'org-1',
    ]);
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain(
      'MASTER_KEY_FILE: names a key that differs from the master key of this store',
    );
  });
});

describe('calling gatehouse', () => {
  const nowhere = { DATA_DIR: join(tmpdir(), 'no-such-gatehouse') };
  const names = commands.map(nameOf);

  test.each(names)('%s --help shows usage and an example that it accepts', async (name) => {
    const { code, output } = await runGatehouse(nowhere, [...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(output).toContain(`Usage: gatehouse ${name}`);
    const [, example = ''] = /Example:\n {2}gatehouse (.*)/.exec(output) ?? [];
    const words = [...example.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
    expect(parseArguments(words, commands)).toMatchObject({ help: undefined });
  });

  test('has at most 28 commands, and lists all of them without arguments', async () => {
    const { output } = await runGatehouse(nowhere, []);
    expect(names.filter((name) => !output.includes(`  ${name}`))).toEqual([]);
    expect(names.length).toBeLessThanOrEqual(28);
    expect(await runGatehouse(nowhere, ['help'])).toMatchObject({ code: 0, output });
    const group = await runGatehouse(nowhere, ['users', '--help']);
    expect(group.output).toContain('users password <username>');
    expect(group.output).not.toContain('clients');
    const one = await runGatehouse(nowhere, ['help', 'clients', 'add']);
    expect(one).toEqual(await runGatehouse(nowhere, ['clients', 'add', '--help']));
  });

  test.each([
    [['clients']],
    [['clients', 'explode', 'marker']],
    [['clients', 'marker']],
    [['clients', 'show']],
    [['clients', 'show', 'a', 'marker']],
    [['clients', 'list', '--explode=marker']],
    [['clients', 'list', '--json=marker']],
    [['audit', 'list', '--since', 'yesterday']],
    [['audit', 'list', '--limit', 'marker']],
    [['tokens', 'revoke', 'marker']],
    [['tokens', 'revoke', '--all', '--client', 'marker']],
  ])('%j exits with 2 and quotes no value', async (args) => {
    const { code, errors, output } = await runGatehouse({ ...nowhere, ...keyFiles() }, args);
    expect(code).toBe(2);
    expect(errors).not.toMatch(/marker|yesterday/);
    expect(output).toBe('');
  });

  test.each([
    [['client', 'lst'], 'Did you mean gatehouse clients?'],
    [['users', 'lis'], 'Did you mean list?'],
    [['clients', 'add', 'a', '--redirect-uris', 'b'], 'Did you mean --redirect-uri?'],
    [['clients', 'add', 'a', '--name'], "option '--name <name>' argument missing"],
    [['clients', 'list', '--json=yes'], "unknown option '--json=…'"],
    [['clients', 'show'], "missing required argument 'clientId'"],
  ])('%j gets a suggestion', async (args, suggestion) => {
    const { code, errors } = await runGatehouse(nowhere, args);
    expect(code).toBe(2);
    expect(errors).toContain(suggestion);
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
    ['--json master-key check', 'master-key rotate --check --json'],
    ['backup folder', 'backup create folder'],
    ['restore folder', 'backup restore folder'],
  ])('%s still works for one release, as %s', (old, current) => {
    const { args, warning } = withCurrentName(old.split(' '));
    expect(args.join(' ')).toBe(current);
    expect(warning).toMatch(/ is deprecated\. Use gatehouse /);
    expect(withCurrentName(args)).toEqual({ args });
    expect(parseArguments(args, commands)).toMatchObject({ help: undefined });
  });

  test('rejects a misspelled variable instead of changing the embedded store', async () => {
    const { code, errors, output } = await runGatehouse(
      {
        ...nowhere,
        ...keyFiles(),
        STORE_URL: '',
        STORE_URI: 'redis://marker',
        COOKIE_KEY_FILE: 'x',
      },
      ['clients', 'list'],
    );
    expect([code, output]).toEqual([1, '']);
    expect(errors).toContain('STORE_URI: looks like a misspelling of STORE_URL');
    expect(errors).toContain('COOKIE_KEY_FILE: looks like a misspelling of COOKIE_KEYS_FILE');
    expect(errors).not.toContain('marker');
  });

  test('reports why the store is unavailable, without the password', async () => {
    const redis = await startRedisServer({ password: 'right-marker' });
    try {
      const { code, errors } = await runGatehouse(
        { ...nowhere, ...keyFiles(), STORE_URL: `redis://:wrong-marker@127.0.0.1:${redis.port}` },
        ['clients', 'list'],
      );
      expect(code).toBe(1);
      expect(errors).toContain('The store is unavailable. Redis replies WRONGPASS.');
      expect(errors).not.toContain('marker');
    } finally {
      await redis.stop();
    }
  });

  test('warns about a master key that others can read, and runs the command', async () => {
    const { MASTER_KEY_FILE: key } = keyFiles();
    const STORE_URL = `sqlite:${join(dirname(key), 'warned.sqlite')}`;
    const environment = { ...nowhere, MASTER_KEY_FILE: key, STORE_URL };
    chmodSync(key, 0o644);
    const warning = `MASTER_KEY_FILE: names a file with secrets that other users can access (mode 0644). Run: chmod 600 ${key}`;
    const command = ['clients', 'list'];
    expect(await runGatehouse(environment, command)).toMatchObject({
      code: 0,
      errors: `Warning: ${warning}\n`,
    });
    const asJson = await runGatehouse(environment, [...command, '--json']);
    expect([asJson.json, JSON.parse(asJson.errors)]).toEqual([{ clients: [] }, { warning }]);
    chmodSync(key, 0o600);
    expect(await runGatehouse(environment, command)).toMatchObject({ code: 0, errors: '' });
  });

  let temporary: string | undefined;
  function keyFiles() {
    const isNew = temporary === undefined;
    temporary ??= mkdtempSync(join(tmpdir(), 'gatehouse-cli-key-'));
    const MASTER_KEY_FILE = join(temporary, 'master.key');
    if (isNew) {
      writeFileSync(MASTER_KEY_FILE, randomBytes(32).toString('hex'), { mode: 0o600 });
    }
    return { MASTER_KEY_FILE, STORE_URL: `sqlite:${join(temporary, 'store.sqlite')}` };
  }
  afterAll(() => {
    if (temporary !== undefined) {
      rmSync(temporary, { recursive: true });
    }
  });
});
