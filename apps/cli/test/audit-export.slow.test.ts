// requires: redis-server
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const main = new URL('../src/main.ts', import.meta.url).pathname;

describe.each(integrationEngines)('audit export on %s', (engineName) => {
  let engine: StoreEngine;
  let environment: Record<string, string>;
  const directory = temporaryFolder();
  const masterKey = randomBytes(32);
  const gatehouse = (...args: readonly string[]) => runGatehouse(environment, args);
  const path = (name: string) => join(directory, name);
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  const read = (name: string) => linesOf(readFileSync(path(name), 'utf8'));
  const write = (name: string, lines: readonly string[]) =>
    writeFileSync(path(name), lines.map((line) => `${line}\n`).join(''));

  beforeAll(async () => {
    engine = await startStoreEngine(engineName);
    const MASTER_KEY_FILE = writeMasterKey(directory, masterKey);
    environment = { STORE_URL: engine.storeUrl, MASTER_KEY_FILE, DATA_DIR: directory };
    for (const id of ['one', 'two', 'three', 'four']) {
      await gatehouse('organizations', 'add', id);
    }
    await gatehouse('audit', 'export', '--file', path('whole'));
  });
  afterAll(async () => {
    await engine.stop();
  });

  /** Opens the trail of this store, for a process whose clock is ahead. */
  async function withAudit(
    ahead: number,
    work: (audit: ReturnType<typeof openIdentity>['audit']) => Promise<void>,
  ) {
    const store = createStore(engine.storeUrl);
    try {
      await work(openIdentity({ store, masterKey, now: () => Date.now() + ahead }).audit);
    } finally {
      await store.close();
    }
  }

  const exportTo = (name: string, ...more: readonly string[]) =>
    gatehouse('audit', 'export', '--file', path(name), ...more);
  const verify = (name: string, ...more: readonly string[]) =>
    gatehouse('audit', 'verify', path(name), ...more);
  const rejected = (message: string) => ({ code: 1, errors: expect.stringContaining(message) });

  test('prints the entries, oldest first, each with the hash of the line before', async () => {
    const { output } = await gatehouse('audit', 'export', '--since', '5m');
    const lines = linesOf(output);
    const entries = lines.map((line) => JSON.parse(line));
    const ids = entries.map(({ organizationId }) => organizationId);
    expect(ids).toEqual(['one', 'two', 'three', 'four']);
    const hashes = lines.map((line) => createHash('sha256').update(line).digest('hex'));
    expect(entries.map(({ previous }) => previous)).toEqual([null, ...hashes.slice(0, -1)]);
    expect(lines).toEqual(read('whole'));
  });

  test('continues a file after its last entry', async () => {
    write('continued', read('whole').slice(0, 2));
    for (const written of [2, 0]) {
      expect((await exportTo('continued', '--json')).json.written).toBe(written);
      expect(read('continued')).toEqual(read('whole'));
    }
  });

  test('removes a last line that a killed process left incomplete, and writes it again', async () => {
    const [first = '', second = ''] = read('whole');
    writeFileSync(path('killed'), `${first}\n${second.slice(0, 40)}`);
    expect(await exportTo('killed')).toMatchObject({ code: 0 });
    expect(read('killed')).toEqual(read('whole'));
  });

  test.each([
    ['a key without a line break', '3f'.repeat(32)],
    ['a line of another export', '{"previous":"00'],
  ])('does not change a file with %s', async (_name, content) => {
    writeFileSync(path('foreign'), content);
    expect(await exportTo('foreign')).toMatchObject(rejected('It is not an audit entry.'));
    expect(readFileSync(path('foreign'), 'utf8')).toBe(content);
  });

  test('writes an entry again when it counts more events', async () => {
    const failure = { event: 'client_authentication_failed', endpoint: 'token' } as const;
    await withAudit(0, async (audit) => {
      const record = () => audit.record(failure, { actor: 'test', address: '192.0.2.1' });
      const versions = async () => {
        await audit.flush();
        await exportTo('counts');
        const entries = read('counts').map((line) => JSON.parse(line));
        return entries.filter(({ event }) => event === failure.event).map(({ count }) => count);
      };
      record();
      expect(await versions()).toEqual([undefined]);
      record();
      record();
      expect(await versions()).toEqual([undefined, 3]);
      expect(await versions()).toEqual([undefined, 3]);
    });
  });

  test('does not lose entries after one of a process whose clock is ahead', async () => {
    for (const [ahead, userId] of [
      [600_000, 'ahead'],
      [0, 'later'],
    ] as const) {
      const entry = { event: 'user_changed', userId, change: 'changed' } as const;
      const context = { actor: 'test', operator: '\u009b\u202e' };
      await withAudit(ahead, async (audit) => void (await audit.write(entry, context)));
      await exportTo('ahead');
    }
    const text = readFileSync(path('ahead'), 'utf8');
    expect(text).toContain('"userId":"ahead"');
    expect(text).toContain('"userId":"later"');
    expect(text).toContain('"operator":"\\u009b\\u202e"');
    expect(await verify('ahead')).toMatchObject({ code: 0 });
  });

  test('follows the trail until it is killed, and continues the chain later', async () => {
    const { child } = follow(environment, path('followed'));
    const names = () => read('followed').map((line) => JSON.parse(line).organizationId);
    try {
      await until(() => existsSync(path('followed')) && names().includes('four'));
      await gatehouse('organizations', 'add', `during-${engineName}`);
      await until(() => names().includes(`during-${engineName}`));
    } finally {
      child.kill('SIGKILL');
    }
    await gatehouse('organizations', 'add', `after-${engineName}`);
    await exportTo('followed');
    expect(names().slice(-2)).toEqual([`during-${engineName}`, `after-${engineName}`]);
    expect(await verify('followed')).toMatchObject({ code: 0 });
  });

  describe('audit verify', () => {
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
      const before = read('changed');
      const broken = rejected(`broken at line ${line}.`);
      expect(await verify('changed')).toMatchObject(broken);
      expect(await exportTo('changed')).toMatchObject(broken);
      expect(read('changed')).toEqual(before);
    });

    test('reports a removed end if it gets a hash that was kept elsewhere', async () => {
      const { lastHash } = (await verify('whole', '--json')).json;
      write('shortened', read('whole').slice(0, -1));
      expect(await verify('shortened')).toMatchObject({ code: 0 });
      const missing = rejected('none of its 3 lines has this hash');
      expect(await verify('shortened', '--hash', lastHash)).toMatchObject(missing);
      expect(await verify('whole', '--hash', lastHash)).toMatchObject({ code: 0 });
      expect(await verify('whole', '--hash', 'short')).toMatchObject({ code: 2 });
    });

    test.each([
      ['an empty file', '', 'contains no audit entry'],
      ['a file of another kind', 'not an export', 'broken at line 1.'],
    ])('reports %s', async (_name, content, message) => {
      writeFileSync(path('other'), content);
      expect(await verify('other')).toMatchObject(rejected(message));
    });
  });
});

const outageFolder = temporaryFolder();
test('audit export continues after an outage of the store', async () => {
  const redis = await startRedisServer();
  const MASTER_KEY_FILE = writeMasterKey(outageFolder);
  const file = join(outageFolder, 'audit.ndjson');
  const environment = { STORE_URL: redis.url, MASTER_KEY_FILE, DATA_DIR: outageFolder };
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
