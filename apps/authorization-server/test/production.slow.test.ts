/** Which configurations start on a public address, and which do not. */
// cspell:ignore AUTHORISATION

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientSchema, openIdentity, readOrCreateDemo } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { freePort, processEnvironment } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Fields } from './server.ts';

const main = join(import.meta.dirname, '..', 'src', 'main.ts');
let directory: string;
let embedded: Fields;

beforeEach(async () => {
  directory = temporaryFolder();
  const AUTHORIZATION_SERVER_PORT = String(await freePort());
  embedded = { DATA_DIR: directory, OPERATIONS_PORT: '0', AUTHORIZATION_SERVER_PORT };
});

function file(name: string, content: string, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, content, { mode });
  return path;
}

/** A valid deployment. Each test breaks a part of it. */
const production = (masterKey = randomBytes(32)): Fields => ({
  ...embedded,
  AUTHORIZATION_SERVER_URL: 'https://auth.example',
  STORE_URL: `sqlite:${join(directory, 'store.sqlite')}`,
  MASTER_KEY_FILE: file('master.key', masterKey.toString('hex')),
});

/** Runs the real process. The code is 'started', or the exit code if it ends without a start. */
async function run(environment: Fields) {
  const child = spawn(process.execPath, [main], {
    env: { ...processEnvironment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let [words, log, started] = ['', '', false];
  child.stderr?.on('data', (chunk) => {
    words += String(chunk);
  });
  child.stdout?.on('data', (chunk) => {
    log += String(chunk);
  });
  child.once('message', () => {
    started = true;
    child.kill('SIGTERM');
  });
  const [code] = await once(child, 'close');
  return { code: started ? 'started' : code, words, log };
}

/** The names of the lines of a message, which are variables or members of files. */
const namesIn = (words: string) => {
  const lines = words.split('\n').slice(1).filter(Boolean);
  return lines.map((line) => line.trim().split(': ')[0]).sort();
};
const bootstrapWith = (secret: object, password: string) =>
  JSON.stringify({
    organizations: [{ id: 'org-1', name: 'Example' }],
    clients: [{ clientId: 'app', name: 'App', orgId: 'org-1', ...secret }],
    users: [{ username: 'bob', password, name: 'Bob', orgId: 'org-1' }],
  });

describe('a public address', () => {
  test.each<[string, Fields]>([
    ['behind named proxies', { TRUSTED_PROXIES: '10.0.0.0/8, ::1' }],
    [
      'with variables of other apps and other programs',
      {
        ...{ DEVICE_SERVICE_PORT: '1', CLIENT_RATE_LIMIT: 'of the gateway', SECURTY_PROFILE: '' },
        ...{ DATABASE_URL_FILE: '/x', DATABASE_URI: 'of another' },
        ...{ GATEWAY_PORT: 'tcp://10.0.0.11:8844', GATEWAY_SERVICE_HOST: '10.0.0.11' },
      },
    ],
  ])('starts %s', async (_how, environment) => {
    const { code, words } = await run({ ...production(), ...environment });
    expect({ code, words }).toEqual({ code: 'started', words: '' });
  });

  test('stops the start with every problem at once, without values', async () => {
    const { secureKey } = readOrCreateDemo(directory);
    const { code, words } = await run({
      ...production(),
      AUTHORIZATION_SERVER_URL: 'http://auth.example',
      MASTER_KEY_FILE: file('zeros', '0'.repeat(64)),
      COOKIE_KEYS_FILE: file('cookies', 'my-secret-cookie-key-that-is-long-enough'),
      TRUSTED_PROXIES: '0.0.0.0/0',
      LOG_LEVEL: 'shouting',
      BOOTSTRAP_FILE: file('bootstrap.json', bootstrapWith({ secureKey }, 'changeme123')),
      SECURTY_PROFILE: 'strict-marker',
      TRUSTED_PROXY: '10.9.8.7',
      ADDRESS_RATE_LIMITS: '17/23',
    });
    expect([code, namesIn(words)]).toEqual([
      1,
      [
        ...['ADDRESS_RATE_LIMITS', 'AUTHORIZATION_SERVER_URL'],
        ...['BOOTSTRAP_FILE clients.0.secureKey', 'BOOTSTRAP_FILE users.0.password'],
        ...['COOKIE_KEYS_FILE', 'LOG_LEVEL', 'MASTER_KEY_FILE', 'SECURTY_PROFILE'],
        ...['TRUSTED_PROXIES', 'TRUSTED_PROXY'],
      ],
    ]);
    expect(words).toContain('\n  SECURTY_PROFILE: looks like a misspelling of SECURITY_PROFILE');
    expect(words).toContain('\n  TRUSTED_PROXY: looks like a misspelling of TRUSTED_PROXIES');
    expect(words).not.toContain(secureKey);
    expect(words).not.toMatch(/changeme123|my-secret|0000|shouting|marker|10\.9|17\/23/);
  });

  test.each([
    ['STORE_URL_FIL', '/run/secrets/store-url'],
    ['AUTHORISATION_SERVER_URL', 'https://auth.example'],
    ['DATA_DIRR', '/var/lib/gatehouse'],
    ['BOOTSTRAP_FIEL', '/etc/gatehouse/bootstrap.json'],
    ['MASTER_KEYFILE', '/run/secrets/master.key'],
    ['COOKIE_KEY_FILE', '/run/secrets/cookie.keys'],
  ])('creates no demo and no key if the operator misspelled %s', async (name, value) => {
    const { code, words } = await run({ ...embedded, [name]: value });
    expect([code, namesIn(words)]).toEqual([1, [name]]);
    expect(words).not.toContain(value);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('rejects missing key files, and trusted proxies that cover the whole internet', async () => {
    const { MASTER_KEY_FILE: _left, ...rest } = production();
    const TRUSTED_PROXIES = '0.0.0.0/1,128.0.0.0/1';
    const { code, words } = await run({ ...rest, TRUSTED_PROXIES });
    expect([code, namesIn(words)]).toEqual([1, ['MASTER_KEY_FILE', 'TRUSTED_PROXIES']]);
    expect(words).toMatch(/MASTER_KEY_FILE: is required.*TRUSTED_PROXIES: trusts too many/s);
    const COOKIE_KEYS_FILE = join(directory, 'missing');
    const missing = await run({ ...production(), COOKIE_KEYS_FILE });
    expect(missing.words).toContain('COOKIE_KEYS_FILE: the file is missing');
  });

  test('rejects the embedded demo, and a store with the demo until it is disabled', async () => {
    const demo = readOrCreateDemo(directory);
    const { STORE_URL: storeUrl = '', MASTER_KEY_FILE: _m, ...withoutStore } = production();
    const rejected = await run(withoutStore);
    expect(rejected.code).toBe(1);
    expect(rejected.words).toContain('DATA_DIR: contains the demo client and user');

    const masterKey = randomBytes(32);
    const environment = production(masterKey);
    const store = createStore(storeUrl);
    const { clients, users } = openIdentity({ store, masterKey });
    const definition = { clientId: 'demo', name: 'Demo', orgId: 'demo', secureKey: demo.secureKey };
    const { secureKey: _key, ...client } = clientSchema.parse(definition);
    await clients.save(client, demo.secureKey);
    const { userId } = await users.ensure({ ...demo, name: 'Alice', orgId: 'demo' });
    const left = await run(environment);
    expect(left.code).toBe(1);
    expect(left.words).toContain('gatehouse clients change demo --disable');
    expect(left.words).toContain('gatehouse users change alice --disable');

    await clients.update('demo', (each) => ({ ...each, enabled: false }));
    await users.update(userId, (each) => ({ ...each, enabled: false }));
    await store.close();
    expect((await run(environment)).code).toBe('started');
  });
});

describe('files with secrets that other users can reach', () => {
  /** Every kind of file that contains a secret, with this mode. */
  function openFiles(mode: number): Fields {
    file('web.key', randomBytes(24).toString('base64url'), mode);
    const secret = { secureKeyFile: 'web.key' };
    const bootstrap = bootstrapWith(secret, randomBytes(12).toString('base64url'));
    const { STORE_URL: storeUrl = '', ...environment } = production();
    chmodSync(join(directory, 'master.key'), mode);
    return {
      ...environment,
      STORE_URL_FILE: file('store-url', storeUrl, mode),
      BOOTSTRAP_FILE: file('bootstrap.json', bootstrap, mode),
    };
  }
  const names = [
    ...['BOOTSTRAP_FILE', 'BOOTSTRAP_FILE clients.0.secureKeyFile'],
    ...['MASTER_KEY_FILE', 'STORE_URL_FILE'],
  ];

  test('stop the start on a public address with the commands to fix them', async () => {
    const environment = openFiles(0o644);
    const { code, words } = await run({ ...environment, LOG_LEVEL: 'shouting' });
    expect([code, namesIn(words)]).toEqual([1, [...names, 'LOG_LEVEL'].sort()]);
    expect(words).toContain(
      `MASTER_KEY_FILE: names a file with secrets that other users can access (mode 0644). Run: chmod 600 ${join(directory, 'master.key')}\n`,
    );

    // Runs the commands of the messages.
    for (const [, path = ''] of words.matchAll(/Run: chmod 600 (\S+)/g)) {
      chmodSync(path, 0o600);
    }
    const started = await run(environment);
    expect(started).toMatchObject({ code: 'started', words: '' });
    expect(started.log).not.toContain('"level":"warn"');
  });

  const loopback = () => ({
    AUTHORIZATION_SERVER_URL: `http://localhost:${embedded.AUTHORIZATION_SERVER_PORT}`,
  });

  test('are warnings on a loopback address', async () => {
    const { code, log } = await run({ ...openFiles(0o640 | 0o004), ...loopback() });
    expect(code).toBe('started');
    const warned = log.split('\n').filter((line) => line.includes('"level":"warn"'));
    expect(warned.map((line) => JSON.parse(line).msg.split(': ')[0]).sort()).toEqual(names);
  });

  test('in DATA_DIR get safe modes if the server created them, and a log line', async () => {
    const environment = { ...embedded, ...loopback() };
    expect(await run(environment)).toMatchObject({ code: 'started' });
    const own = ['demo.json', 'gatehouse.sqlite', 'master.key'];
    const modes = () => ['.', ...own].map((name) => statSync(join(directory, name)).mode & 0o777);
    for (const name of own) {
      chmodSync(join(directory, name), 0o644);
    }
    chmodSync(directory, 0o755);
    const { code, log } = await run(environment);
    expect([code, modes()]).toEqual(['started', [0o700, 0o600, 0o600, 0o600]]);
    expect(log).toContain(`other users had access to ${join(directory, 'master.key')} (mode 0644)`);
  });
});
