/** Which configurations start on a public address, and which do not. */
// cspell:ignore AUTHORISATION

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
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
