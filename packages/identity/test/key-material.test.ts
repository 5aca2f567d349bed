import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { demoDefinition } from '../src/bootstrap/demo.ts';
import {
  bootstrapDefinition,
  loadMasterKey,
  readOrCreateDemo,
  resolveIdentitySettings,
} from '../src/index.ts';

const run = promisify(execFile);
const hexadecimal = 'ab'.repeat(32);
let directory = '';
let keyFile = '';

beforeEach(() => {
  directory = temporaryFolder();
  keyFile = join(directory, 'master.key');
});

/** Starts both processes together. Each imports modules for longer than the other runs. */
async function runTwice(script: string): Promise<readonly string[]> {
  const arguments_ = ['--input-type=module', '--eval', script];
  const runs = [1, 2].map(() =>
    run(process.execPath, arguments_, { cwd: import.meta.dirname }).then(({ stdout }) => stdout),
  );
  return Promise.all(runs);
}

describe('the master key file', () => {
  test('is created at the first start of an embedded store with mode 0600, and reused', () => {
    const key = loadMasterKey(keyFile, true);
    const [first] = key.keys();
    expect(key.keys()).toEqual([expect.any(Buffer)]);
    expect(first).toHaveLength(32);
    expect(loadMasterKey(keyFile, true).keys()).toEqual([first]);
    expect(loadMasterKey(keyFile, false).keys()).toEqual([first]);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(readFileSync(keyFile, 'utf8')).toBe(`${first.toString('hex')}\n`);
  });

  test.each([
    ['empty', ''],
    ['short', hexadecimal.slice(1)],
    ['long', `${hexadecimal}a`],
    ['no hexadecimal', `${hexadecimal.slice(1)}x`],
    ['two keys', `${hexadecimal}\n${hexadecimal}`],
    ['full-width digits', '０'.repeat(64)],
  ])('is rejected without quoting it if it is malformed: %s', (_name, content) => {
    writeFileSync(keyFile, content);
    expect(() => loadMasterKey(keyFile, true)).toThrow(
      /^MASTER_KEY_FILE: names a file that does not contain 64 hexadecimal digits$/,
    );
    expect(readFileSync(keyFile, 'utf8')).toBe(content);
  });

  test('is not created if an operator named it, and the error does not quote its name', () => {
    const mistaken = join(directory, 'folder', hexadecimal);
    expect(() => loadMasterKey(mistaken, false)).toThrow(
      /^MASTER_KEY_FILE: names a file that does not exist$/,
    );
    expect(readdirSync(directory)).toEqual([]);
    expect(() => loadMasterKey(directory, false)).toThrow(
      /^MASTER_KEY_FILE: names a file that cannot be read$/,
    );
  });
});

describe('the identity settings', () => {
  const variables = () =>
    ({
      DATA_DIR: join(directory, 'data'),
      SECURITY_PROFILE: 'compatible',
      AUDIT_RETENTION_DAYS: 90,
    }) as const;

  test('select an embedded store with a generated key by default', () => {
    expect(resolveIdentitySettings(variables())).toMatchObject({
      storeUrl: `sqlite:${join(directory, 'data', 'gatehouse.sqlite')}`,
      embedded: true,
      bootstrapFile: undefined,
    });
    expect(existsSync(join(directory, 'data', 'master.key'))).toBe(true);
  });

  test('require a key file if STORE_URL is set, and do not create it', () => {
    const named = { ...variables(), STORE_URL: 'redis://localhost' };
    expect(() => resolveIdentitySettings(named)).toThrow(
      'MASTER_KEY_FILE: is required when STORE_URL is set',
    );
    expect(() => resolveIdentitySettings({ ...named, MASTER_KEY_FILE: keyFile })).toThrow(
      'MASTER_KEY_FILE: names a file that does not exist',
    );
    expect(readdirSync(directory)).toEqual([]);
    writeFileSync(keyFile, hexadecimal);
    const settings = resolveIdentitySettings({ ...named, MASTER_KEY_FILE: keyFile });
    expect(settings).toMatchObject({ storeUrl: 'redis://localhost', embedded: false });
    expect(settings.masterKey.keys()).toEqual([Buffer.from(hexadecimal, 'hex')]);
  });
});

describe('the demo', () => {
  test('has random secrets in a file with mode 0600, which every start reuses with its own port', () => {
    const demo = readOrCreateDemo(directory);
    expect(readOrCreateDemo(directory)).toEqual(demo);
    const moved = { ...demo, redirectUri: 'http://localhost:1/other' };
    expect(readOrCreateDemo(directory, moved.redirectUri)).toEqual(moved);
    expect(readOrCreateDemo(directory)).toEqual(moved);
    expect(statSync(join(directory, 'demo.json')).mode & 0o777).toBe(0o600);
    expect(demo).toMatchObject({
      clientId: 'demo',
      secureKey: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
      username: 'alice',
      password: expect.stringMatching(/^[A-Za-z0-9]{16}$/),
    });
    expect(readOrCreateDemo(join(directory, 'other')).secureKey).not.toBe(demo.secureKey);
    expect(demoDefinition(demo).clients[0]).toMatchObject({ redirectUris: [demo.redirectUri] });
  });

  test('is the same for two processes that start together', async () => {
    const data = JSON.stringify(join(directory, 'data'));
    const outputs = await runTwice(`
      import { readOrCreateDemo } from '../src/index.ts';
      process.stdout.write(JSON.stringify(readOrCreateDemo(${data})));`);
    expect(outputs[0]).toBe(outputs[1]);
    expect(JSON.parse(outputs[0] ?? '')).toEqual(readOrCreateDemo(join(directory, 'data')));
  });

  test.each(['', '{"secureKey":"marker"', '{"secureKey":"marker"}', 'null'])(
    'is rejected without quoting it if the file is damaged: %j',
    (content) => {
      writeFileSync(join(directory, 'demo.json'), content);
      expect(() => readOrCreateDemo(directory)).toThrow(/^DATA_DIR: contains a damaged demo\.json/);
    },
  );
});

describe('the bootstrap definition of an app', () => {
  const settings = (
    changes: Partial<Parameters<typeof bootstrapDefinition>[0]> = {},
  ): Parameters<typeof bootstrapDefinition>[0] => ({
    bootstrapFile: undefined,
    dataDirectory: directory,
    embedded: true,
    publicUrl: 'http://localhost:9000',
    ...changes,
  });

  test('is the demo for an embedded store at a loopback address, otherwise empty', () => {
    const production = settings({ publicUrl: 'https://auth.example' });
    expect(bootstrapDefinition(production)).toBeUndefined();
    expect(bootstrapDefinition(settings({ embedded: false }))).toBeUndefined();
    expect(existsSync(join(directory, 'demo.json'))).toBe(false);
    expect(bootstrapDefinition(settings())?.clients[0]?.clientId).toBe('demo');
  });

  test('is an error if a public address would serve a store with the demo', () => {
    bootstrapDefinition(settings());
    const bootstrapFile = join(directory, 'bootstrap.json');
    writeFileSync(bootstrapFile, '{}');
    for (const file of [undefined, bootstrapFile]) {
      const production = settings({ publicUrl: 'https://auth.example', bootstrapFile: file });
      expect(() => bootstrapDefinition(production)).toThrow(/^DATA_DIR: contains the demo client/);
    }
  });

  test.each([
    ['http://localhost:9000', true],
    ['http://127.0.0.1', true],
    ['http://127.8.9.1:1', true],
    ['http://[::1]:9000', true],
    ['https://localhost', true],
    ['https://auth.example', false],
    ['http://localhost.evil.example', false],
    ['http://127.0.0.1.evil.example', false],
    ['http://0.0.0.0', false],
    ['http://10.0.0.1', false],
  ])('treats %s as a loopback address: %s', (url, expected) => {
    expect(isLoopbackUrl(url)).toBe(expected);
  });
});
