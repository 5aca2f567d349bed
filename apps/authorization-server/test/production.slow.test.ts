// cspell:ignore AUTHORISATION
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity, readOrCreateDemo } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { freePort, processEnvironment } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const main = join(import.meta.dirname, '..', 'src', 'main.ts');
let directory: string;
let port: number;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-production-'));
  port = await freePort();
});
afterEach(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, content, { mode });
  return path;
}

/** A valid deployment. Each test breaks a part of it. */
function production(): Record<string, string> {
  return {
    DATA_DIR: directory,
    AUTHORIZATION_SERVER_PORT: String(port),
    OPERATIONS_PORT: '0',
    AUTHORIZATION_SERVER_URL: 'https://auth.example',
    STORE_URL: `sqlite:${join(directory, 'store.sqlite')}`,
    MASTER_KEY_FILE: file('master.key', randomBytes(32).toString('hex')),
  };
}

/** Runs the real process. The code is 'started', or the exit code if it ends without a start. */
function run(
  environment: Record<string, string>,
): Promise<{ code: unknown; words: string; log: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main], {
      env: { ...processEnvironment, ...environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let words = '';
    child.stderr?.on('data', (chunk) => {
      words += String(chunk);
    });
    let log = '';
    child.stdout?.on('data', (chunk) => {
      log += String(chunk);
    });
    let started = false;
    child.once('message', () => {
      started = true;
      child.kill('SIGTERM');
    });
    child.once('close', (code) => resolve({ code: started ? 'started' : code, words, log }));
  });
}

const bootstrapWith = (secureKey: string, password: string) =>
  JSON.stringify({
    organizations: [{ id: 'org-1', name: 'Example' }],
    clients: [{ clientId: 'app', secureKey, name: 'App', orgId: 'org-1' }],
    users: [{ username: 'bob', password, name: 'Bob', orgId: 'org-1' }],
  });

describe('a public address', () => {
  test('starts with random keys behind named proxies', async () => {
    const { code, words } = await run({ ...production(), TRUSTED_PROXIES: '10.0.0.0/8, ::1' });
    expect({ code, words }).toEqual({ code: 'started', words: '' });
  });

  test('stops the start with every problem at once, without values', async () => {
    const demo = readOrCreateDemo(directory);
    const { code, words } = await run({
      ...production(),
      AUTHORIZATION_SERVER_URL: 'http://auth.example',
      MASTER_KEY_FILE: file('zeros', '0'.repeat(64)),
      COOKIE_KEYS_FILE: file('cookies', 'my-secret-cookie-key-that-is-long-enough'),
      TRUSTED_PROXIES: '0.0.0.0/0',
      LOG_LEVEL: 'shouting',
      BOOTSTRAP_FILE: file('bootstrap.json', bootstrapWith(demo.secureKey, 'changeme123')),
    });
    expect(code).toBe(1);
    const names = words
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(': ')[0]);
    expect(names.filter(Boolean).sort()).toEqual([
      'AUTHORIZATION_SERVER_URL',
      'BOOTSTRAP_FILE clients.0.secureKey',
      'BOOTSTRAP_FILE users.0.password',
      'COOKIE_KEYS_FILE',
      'LOG_LEVEL',
      'MASTER_KEY_FILE',
      'TRUSTED_PROXIES',
    ]);
    for (const value of [demo.secureKey, 'changeme123', 'my-secret', '0000', 'shouting']) {
      expect(words).not.toContain(value);
    }
  });

  test('reports misspelled names with all other problems, the meant names and no value', async () => {
    const { code, words } = await run({
      ...production(),
      SECURTY_PROFILE: 'strict-marker',
      TRUSTED_PROXY: '10.9.8.7',
      ADDRESS_RATE_LIMITS: '17/23',
      COOKIE_KEYS_FILE: join(directory, 'missing'),
      LOG_LEVEL: 'shouting',
    });
    expect(code).toBe(1);
    expect(words).toContain('\n  SECURTY_PROFILE: looks like a misspelling of SECURITY_PROFILE');
    expect(words).toContain('\n  TRUSTED_PROXY: looks like a misspelling of TRUSTED_PROXIES');
    expect(words).toContain(
      '\n  ADDRESS_RATE_LIMITS: looks like a misspelling of ADDRESS_RATE_LIMIT',
    );
    expect(words).toContain('\n  LOG_LEVEL: must be');
    expect(words).toContain('\n  COOKIE_KEYS_FILE: the file is missing');
    expect(words).not.toMatch(/marker|10\.9|17\/23|shouting/);
  });

  test.each([
    ['STORE_URL_FIL', '/run/secrets/store-url'],
    ['AUTHORISATION_SERVER_URL', 'https://auth.example'],
    ['DATA_DIRR', '/var/lib/gatehouse'],
    ['BOOTSTRAP_FIEL', '/etc/gatehouse/bootstrap.json'],
    ['MASTER_KEYFILE', '/run/secrets/master.key'],
    ['COOKIE_KEY_FILE', '/run/secrets/cookie.keys'],
  ])('creates no demo and no key if the operator misspelled %s', async (name, value) => {
    const { code, words } = await run({
      DATA_DIR: directory,
      OPERATIONS_PORT: '0',
      AUTHORIZATION_SERVER_PORT: String(port),
      [name]: value,
      LOG_LEVEL: 'shouting',
    });
    expect(code).toBe(1);
    expect(words).toContain(`\n  ${name}: looks like a misspelling of`);
    expect(words).toContain('\n  LOG_LEVEL: must be');
    expect(words).not.toContain(value);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('starts with variables of other apps and other programs in its environment', async () => {
    const { code, words } = await run({
      ...production(),
      DEVICE_SERVICE_PORT: '1',
      CLIENT_RATE_LIMIT: 'of the gateway',
      DATABASE_URL_FILE: '/x',
      GATEWAY_PORT: 'tcp://10.0.0.11:8844',
      GATEWAY_SERVICE_HOST: '10.0.0.11',
      DATABASE_URI: 'of another',
      SECURTY_PROFILE: '',
    });
    expect({ code, words }).toEqual({ code: 'started', words: '' });
  });

  test('rejects missing key files, and trusted proxies that cover the whole internet', async () => {
    const { MASTER_KEY_FILE: _m, ...rest } = production();
    const { code, words } = await run({ ...rest, TRUSTED_PROXIES: '0.0.0.0/1,128.0.0.0/1' });
    expect(code).toBe(1);
    expect(words).toMatch(/MASTER_KEY_FILE: is required/);
    expect(words).toMatch(/TRUSTED_PROXIES: trusts too many/);
  });

  test('rejects the embedded demo, and a store with the demo until it is disabled', async () => {
    const demo = readOrCreateDemo(directory);
    const { STORE_URL: storeUrl = '', MASTER_KEY_FILE: _m, ...embedded } = production();
    const rejected = await run(embedded);
    expect(rejected.code).toBe(1);
    expect(rejected.words).toContain('DATA_DIR: contains the demo client and user');

    const masterKey = randomBytes(32);
    const environment = {
      ...production(),
      MASTER_KEY_FILE: file('master.key', masterKey.toString('hex')),
    };
    const store = createStore(storeUrl);
    const { clients, users } = openIdentity({ store, masterKey });
    await clients.save(
      {
        clientId: 'demo',
        name: 'Demo',
        orgId: 'demo',
        signatureAlgorithm: 'SHA-256',
        grantTypes: [],
        redirectUris: [],
        postLogoutRedirectUris: [],
        scopes: [],
        applicationType: 'web',
        public: false,
        firstParty: false,
        resourceServer: false,
        ownOrganizationOnly: false,
        corsOrigins: [],
        ipAllowList: [],
      },
      demo.secureKey,
    );
    const { userId } = await users.ensure({ ...demo, name: 'Alice', orgId: 'demo' });
    const left = await run(environment);
    expect(left.code).toBe(1);
    expect(left.words).toContain('gatehouse clients change demo --disable');
    expect(left.words).toContain('gatehouse users change alice --disable');

    await clients.update('demo', (client) => ({ ...client, enabled: false }));
    await users.update(userId, (user) => ({ ...user, enabled: false }));
    await store.close();
    expect((await run(environment)).code).toBe('started');
  });
});

describe('files with secrets that other users can reach', () => {
  /** Every kind of file that contains a secret, with this mode. */
  function openFiles(mode: number): Record<string, string> {
    const environment = { ...production(), STORE_URL: '' };
    file('web.key', randomBytes(24).toString('base64url'), mode);
    const bootstrap = JSON.parse(bootstrapWith('', randomBytes(12).toString('base64url')));
    delete bootstrap.clients[0].secureKey;
    bootstrap.clients[0].secureKeyFile = 'web.key';
    const files = {
      STORE_URL_FILE: file('store-url', `sqlite:${join(directory, 'store.sqlite')}`, mode),
      BOOTSTRAP_FILE: file('bootstrap.json', JSON.stringify(bootstrap), mode),
    };
    chmodSync(join(directory, 'master.key'), mode);
    return { ...environment, ...files };
  }
  const names = [
    'BOOTSTRAP_FILE',
    'BOOTSTRAP_FILE clients.0.secureKeyFile',
    'MASTER_KEY_FILE',
    'STORE_URL_FILE',
  ];

  test('stop the start on a public address, together with other problems, and with the commands to fix them', async () => {
    const environment = openFiles(0o644);
    const { code, words } = await run({ ...environment, LOG_LEVEL: 'shouting' });
    expect(code).toBe(1);
    const lines = words.split('\n').slice(1).filter(Boolean);
    expect(lines.map((line) => line.trim().split(': ')[0]).sort()).toEqual(
      [...names, 'LOG_LEVEL'].sort(),
    );
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

  test('are warnings on a loopback address', async () => {
    const loopback = { AUTHORIZATION_SERVER_URL: `http://localhost:${port}` };
    const { code, log } = await run({ ...openFiles(0o640 | 0o004), ...loopback });
    expect(code).toBe('started');
    const warned = log.split('\n').filter((line) => line.includes('"level":"warn"'));
    expect(warned.map((line) => JSON.parse(line).msg.split(': ')[0]).sort()).toEqual(names);
  });

  test('in DATA_DIR get safe modes if the server created them, and a log line', async () => {
    const embedded = {
      DATA_DIR: directory,
      OPERATIONS_PORT: '0',
      AUTHORIZATION_SERVER_PORT: String(port),
      AUTHORIZATION_SERVER_URL: `http://localhost:${port}`,
    };
    expect(await run(embedded)).toMatchObject({ code: 'started' });
    const own = ['demo.json', 'gatehouse.sqlite', 'master.key'];
    const modes = () => ['.', ...own].map((name) => statSync(join(directory, name)).mode & 0o777);
    for (const name of own) {
      chmodSync(join(directory, name), 0o644);
    }
    chmodSync(directory, 0o755);
    const { code, log } = await run(embedded);
    expect([code, modes()]).toEqual(['started', [0o700, 0o600, 0o600, 0o600]]);
    expect(log).toContain(`other users had access to ${join(directory, 'master.key')} (mode 0644)`);
  });
});
