// requires: redis-server
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  integrationEngines,
  type StoreEngine,
  startRedisServer,
  startStoreEngine,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const main = new URL('../src/main.ts', import.meta.url).pathname;

describe.each(integrationEngines)('audit export on %s', (engineName) => {
  let engine: StoreEngine;
  let directory: string;
  let environment: Record<string, string>;
  const masterKey = randomBytes(32);
  const gatehouse = (...args: readonly string[]) => runGatehouse(environment, args);
  const path = (name: string) => join(directory, name);
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  const read = (name: string) => linesOf(readFileSync(path(name), 'utf8'));
  const write = (name: string, lines: readonly string[]) =>
    writeFileSync(path(name), lines.map((line) => `${line}\n`).join(''));

  beforeAll(async () => {
    engine = await startStoreEngine(engineName);
    directory = mkdtempSync(join(tmpdir(), 'gatehouse-export-'));
    const MASTER_KEY_FILE = path('master.key');
    writeFileSync(MASTER_KEY_FILE, masterKey.toString('hex'), { mode: 0o600 });
    environment = { STORE_URL: engine.storeUrl, MASTER_KEY_FILE, DATA_DIR: directory };
    for (const id of ['one', 'two', 'three', 'four']) {
      await gatehouse('organizations', 'add', id);
    }
    await gatehouse('audit', 'export', '--file', path('whole'));
  });
  afterAll(async () => {
    await engine.stop();
    rmSync(directory, { recursive: true });
  });

  test('prints the entries, oldest first, each with the hash of the line before', async () => {
    const { output } = await gatehouse('audit', 'export', '--since', '5m');
    const lines = linesOf(output);
    const entries = lines.map((line) => JSON.parse(line));
    expect(entries.map(({ organizationId }) => organizationId)).toEqual([
      'one',
      'two',
      'three',
      'four',
    ]);
    const hashes = lines.map((line) => createHash('sha256').update(line).digest('hex'));
    expect(entries.map(({ previous }) => previous)).toEqual([null, ...hashes.slice(0, -1)]);
    expect(lines).toEqual(read('whole'));
  });

  test('continues a file after its last entry', async () => {
    write('continued', read('whole').slice(0, 2));
    const reply = await gatehouse('audit', 'export', '--file', path('continued'));
    expect(reply).toMatchObject({ code: 0, output: expect.stringContaining('written: 2\n') });
    expect(read('continued')).toEqual(read('whole'));
    const again = await gatehouse('audit', 'export', '--file', path('continued'), '--json');
    expect(again.json.written).toBe(0);
    expect(read('continued')).toEqual(read('whole'));
  });

  test('removes a last line that a killed process left incomplete, and writes it again', async () => {
    const [first = '', second = ''] = read('whole');
    writeFileSync(path('killed'), `${first}\n${second.slice(0, 40)}`);
    expect(await gatehouse('audit', 'export', '--file', path('killed'))).toMatchObject({ code: 0 });
    expect(read('killed')).toEqual(read('whole'));
  });

  test.each([
    ['a key without a line break', '3f'.repeat(32)],
    ['a short text', 'x'],
    ['lines of another kind', 'one\ntwo\n'],
    ['a line of another export', '{"previous":"00'],
  ])('does not change a file with %s', async (_name, content) => {
    writeFileSync(path('foreign'), content);
    expect(await gatehouse('audit', 'export', '--file', path('foreign'))).toMatchObject({
      code: 1,
      errors: expect.stringContaining('It is not an audit entry.'),
    });
    expect(readFileSync(path('foreign'), 'utf8')).toBe(content);
  });

  test('writes an entry again when it counts more events', async () => {
    const store = createStore(engine.storeUrl);
    const { audit } = openIdentity({ store, masterKey });
    const failure = { event: 'client_authentication_failed', endpoint: 'token' } as const;
    const record = () => audit.record(failure, { actor: 'test', address: '192.0.2.1' });
    const versions = async () => {
      await audit.flush();
      await gatehouse('audit', 'export', '--file', path('counts'));
      return read('counts')
        .map((line) => JSON.parse(line))
        .filter(({ event }) => event === failure.event)
        .map(({ count }) => count);
    };
    try {
      record();
      expect(await versions()).toEqual([undefined]);
      record();
      record();
      expect(await versions()).toEqual([undefined, 3]);
      expect(await versions()).toEqual([undefined, 3]);
    } finally {
      await store.close();
    }
  });

  test('does not lose entries after one of a process whose clock is ahead', async () => {
    const store = createStore(engine.storeUrl);
    const record = async (ahead: number, userId: string) => {
      const { audit } = openIdentity({ store, masterKey, now: () => Date.now() + ahead });
      await audit.write(
        { event: 'user_changed', userId, change: 'changed' },
        { actor: 'test', operator: '\u009b\u202e' },
      );
      await gatehouse('audit', 'export', '--file', path('ahead'));
    };
    try {
      await record(600_000, 'ahead');
      await record(0, 'later');
    } finally {
      await store.close();
    }
    const text = readFileSync(path('ahead'), 'utf8');
    expect(text).toContain('"userId":"ahead"');
    expect(text).toContain('"userId":"later"');
    expect(text).toContain('"operator":"\\u009b\\u202e"');
    expect(await gatehouse('audit', 'verify', path('ahead'))).toMatchObject({ code: 0 });
  });

  test('follows the trail until it is killed, and continues the chain later', async () => {
    const { child } = follow(environment, path('followed'));
    const names = () => read('followed').map((line) => JSON.parse(line).organizationId);
    try {
      await until(() => statSync(path('followed'), { throwIfNoEntry: false })?.size !== undefined);
      await until(() => names().includes('four'));
      await gatehouse('organizations', 'add', `during-${engineName}`);
      await until(() => names().includes(`during-${engineName}`));
    } finally {
      child.kill('SIGKILL');
    }
    await gatehouse('organizations', 'add', `after-${engineName}`);
    await gatehouse('audit', 'export', '--file', path('followed'));
    expect(names().slice(-2)).toEqual([`during-${engineName}`, `after-${engineName}`]);
    expect(await gatehouse('audit', 'verify', path('followed'))).toMatchObject({ code: 0 });
  });

  describe('audit verify', () => {
    const verify = (name: string, ...more: readonly string[]) =>
      gatehouse('audit', 'verify', path(name), ...more);

    test('accepts a complete export, without a store', async () => {
      const { json } = await runGatehouse({}, ['audit', 'verify', path('whole'), '--json']);
      expect(json).toMatchObject({ lines: 4, lastHash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    });

    test.each<[string, number, (lines: readonly string[]) => readonly string[]]>([
      ['a removed first line', 1, (lines) => lines.slice(1)],
      ['a removed line', 3, ([a = '', b = '', , d = '']) => [a, b, d]],
      ['a changed line', 3, ([a = '', b = '', c = '']) => [a, b.replace('two', 'zwo'), c]],
      ['a line at another place', 2, ([a = '', b = '', c = '']) => [a, c, b]],
      ['a repeated line', 2, ([a = '', ...rest]) => [a, a, ...rest]],
      ['an added line', 2, ([a = '', ...rest]) => [a, '{"id":"x","at":"y"}', ...rest]],
      ['a line that is not an entry', 2, ([a = '']) => [a, 'null']],
    ])('reports %s, and export does not continue the file', async (_name, line, change) => {
      write('changed', change(read('whole')));
      const before = readFileSync(path('changed'));
      const broken = { code: 1, errors: expect.stringContaining(`broken at line ${line}.`) };
      expect(await verify('changed')).toMatchObject(broken);
      expect(await gatehouse('audit', 'export', '--file', path('changed'))).toMatchObject(broken);
      expect(readFileSync(path('changed')).equals(before)).toBe(true);
    });

    test('reports a removed end if it gets a hash that was kept elsewhere', async () => {
      const { lastHash } = (await verify('whole', '--json')).json;
      write('shortened', read('whole').slice(0, -1));
      expect(await verify('shortened')).toMatchObject({ code: 0 });
      expect(await verify('shortened', '--hash', lastHash)).toMatchObject({
        code: 1,
        errors: expect.stringContaining('none of its 3 lines has this hash'),
      });
      expect(await verify('whole', '--hash', lastHash)).toMatchObject({ code: 0 });
      expect(await verify('whole', '--hash', 'short')).toMatchObject({ code: 2 });
    });

    test.each([
      ['an empty file', '', 'contains no audit entry'],
      ['a file of another kind', 'not an export', 'broken at line 1.'],
    ])('reports %s', async (_name, content, message) => {
      writeFileSync(path('other'), content);
      expect(await verify('other')).toMatchObject({
        code: 1,
        errors: expect.stringContaining(message),
      });
    });
  });
});

test('audit export continues after an outage of the store', async () => {
  const redis = await startRedisServer();
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-export-'));
  const MASTER_KEY_FILE = join(directory, 'master.key');
  const file = join(directory, 'audit.ndjson');
  writeFileSync(MASTER_KEY_FILE, randomBytes(32).toString('hex'), { mode: 0o600 });
  const environment = { STORE_URL: redis.url, MASTER_KEY_FILE, DATA_DIR: directory };
  await runGatehouse(environment, ['organizations', 'add', 'before']);
  const { child, errors } = follow(environment, file);
  try {
    await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('before'));
    await redis.command('CLIENT', 'PAUSE', '2500', 'ALL');
    await until(() => errors().includes('The store is unavailable.'));
    await until(() => runGatehouse(environment, ['organizations', 'add', 'after']).then(isDone));
    await until(() => readFileSync(file, 'utf8').includes('"organizationId":"after"'));
    expect(await runGatehouse({}, ['audit', 'verify', file])).toMatchObject({ code: 0 });
  } finally {
    child.kill('SIGKILL');
    await redis.stop();
    rmSync(directory, { recursive: true });
  }
});

const isDone = ({ code }: { readonly code: number }) => code === 0;

/** Starts an export that continues until it is killed. */
function follow(environment: Readonly<Record<string, string>>, file: string) {
  const child = spawn(process.execPath, [main, 'audit', 'export', '--follow', '--file', file], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += String(chunk);
  });
  return { child, errors: () => output };
}
