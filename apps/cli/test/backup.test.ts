/** Backup and restore of an embedded installation. test/backup-and-restore.slow.test.ts runs servers. */

import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { loadMasterKey, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { codeOfApp, until } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

let directory: string;
let data: string;
let restored: string;
let backup: string;

const run = (folder: string, words: readonly string[]) =>
  runGatehouse({ DATA_DIR: folder }, [...words, '--json']);
const gatehouse = (words: string) => run(data, words.split(' '));
const save = () => run(data, ['backup', 'create', backup]);
const restore = (...options: readonly string[]) =>
  run(restored, ['backup', 'restore', backup, ...options]);

beforeEach(async () => {
  directory = temporaryFolder();
  data = join(directory, 'data');
  restored = join(directory, 'restored');
  backup = join(directory, 'backup');
  mkdirSync(data);
  loadMasterKey(join(data, 'master.key'), true);
  const devices = new DatabaseSync(join(data, 'devices.sqlite'));
  devices.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (v); INSERT INTO t VALUES ('pump-1')");
  devices.close();
  await gatehouse('organizations add org-1');
  await gatehouse('clients add client-1 --org org-1 --scope device:read');
});

function copyKey(): void {
  mkdirSync(restored, { mode: 0o700 });
  writeFileSync(join(restored, 'master.key'), readFileSync(join(data, 'master.key')), {
    mode: 0o600,
  });
}

async function inspect<Result>(
  folder: string,
  work: (identity: ReturnType<typeof openIdentity>) => Promise<Result>,
): Promise<Result> {
  const store = createStore(`sqlite:${join(folder, 'gatehouse.sqlite')}`);
  try {
    const masterKey = loadMasterKey(join(folder, 'master.key'), false);
    return await work(openIdentity({ store, masterKey }));
  } finally {
    await store.close();
  }
}

describe('gatehouse backup', () => {
  test('writes files that no other user may read, without the keys', async () => {
    const { code, json } = await save();
    expect([code, json.folder]).toEqual([0, backup]);
    const modes = ['.', ...readdirSync(backup)].map((name) => [
      name,
      (statSync(join(backup, name)).mode & 0o777).toString(8),
    ]);
    expect(Object.fromEntries(modes)).toEqual({
      '.': '700',
      'devices.sqlite': '600',
      'gatehouse.sqlite': '600',
      'manifest.json': '600',
    });
    const key = readFileSync(join(data, 'master.key'), 'utf8').trim();
    for (const name of readdirSync(backup)) {
      expect(readFileSync(join(backup, name), 'latin1')).not.toContain(key);
    }
  });

  test('copies a consistent state while others write', async () => {
    const writer = new DatabaseSync(join(data, 'devices.sqlite'));
    writer.exec('CREATE TABLE pairs (a, b)');
    let working = true;
    const writing = (async () => {
      for (let i = 0; working; i += 1) {
        writer.exec(`BEGIN; INSERT INTO pairs VALUES (${i}, 0); UPDATE pairs SET b = a; COMMIT`);
        await new Promise(setImmediate);
      }
    })();
    expect((await save()).code).toBe(0);
    working = false;
    await writing;
    writer.close();
    const copy = new DatabaseSync(join(backup, 'devices.sqlite'), { readOnly: true });
    expect(copy.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    expect(copy.prepare('SELECT count(*) AS n FROM pairs WHERE a <> b').get()).toEqual({ n: 0 });
    copy.close();
  });

  test('replaces nothing, and leaves nothing if it fails', async () => {
    mkdirSync(backup);
    expect((await save()).errors).toMatch(/already exists/);
    rmSync(backup, { recursive: true });
    writeFileSync(join(data, 'devices.sqlite'), 'not a database');
    const { code, errors } = await save();
    expect(code).toBe(1);
    expect(errors).toMatch(/The backup failed, and nothing was saved/);
    expect(readdirSync(directory)).toEqual(['data']);
  });
});

describe('gatehouse restore', () => {
  beforeEach(save);

  test('restores everything and revokes what was issued', async () => {
    copyKey();
    const before = Math.floor(Date.now() / 1000);
    expect((await restore()).code).toBe(0);
    await inspect(restored, async ({ clients, findLiveHolder }) => {
      expect(await clients.find('client-1')).toMatchObject({ enabled: true });
      const holder = (issuedAt: number) => findLiveHolder({ issuedAt, clientId: 'client-1' });
      expect(await holder(before)).toBeUndefined();
      expect(await holder(before + 60)).toBeDefined();
    });
    const devices = new DatabaseSync(join(restored, 'devices.sqlite'), { readOnly: true });
    expect(devices.prepare('SELECT v FROM t').get()).toEqual({ v: 'pump-1' });
    devices.close();
    expect(readdirSync(restored).filter((name) => name.startsWith('restore-'))).toEqual([]);
    expect(statSync(join(restored, 'gatehouse.sqlite')).mode & 0o777).toBe(0o600);
    const list = await run(restored, ['audit', 'list', '--event', 'everything_revoked']);
    expect(list.json.entries).toHaveLength(1);
  });

  test('refuses a data directory with databases, running or not, and changes nothing', async () => {
    const before = readFileSync(join(data, 'gatehouse.sqlite'));
    const { code, errors } = await run(data, ['backup', 'restore', backup]);
    expect(code).toBe(1);
    expect(errors).toMatch(/already has databases .*Stop the servers/);
    expect(readFileSync(join(data, 'gatehouse.sqlite'))).toEqual(before);
    copyKey();
    writeFileSync(join(restored, 'gatehouse.sqlite-wal'), '');
    expect((await restore()).errors).toMatch(/already has databases/);
  });

  test('names the missing key, and refuses another one', async () => {
    expect((await restore()).errors).toMatch(/Copy the key file/);
    expect(existsSync(restored)).toBe(false);
    mkdirSync(restored);
    loadMasterKey(join(restored, 'master.key'), true);
    const { code, errors } = await restore();
    expect([code, errors]).toEqual([1, expect.stringMatching(/needs the master key [0-9a-f]{8}/)]);
    expect(readdirSync(restored)).toEqual(['master.key']);
  });

  test.each([
    ['a changed byte', () => appendFileSync(join(backup, 'gatehouse.sqlite'), 'x'), /is damaged/],
    ['a missing manifest', () => rmSync(join(backup, 'manifest.json')), /not a complete backup/],
    ['a missing file', () => rmSync(join(backup, 'gatehouse.sqlite')), /ENOENT/],
    [
      'a link to another file',
      () => {
        renameSync(join(backup, 'gatehouse.sqlite'), join(directory, 'other'));
        symlinkSync(join(directory, 'other'), join(backup, 'gatehouse.sqlite'));
      },
      /ELOOP/,
    ],
    [
      'a path in the manifest',
      () => {
        const path = join(backup, 'manifest.json');
        const manifest = JSON.parse(readFileSync(path, 'utf8'));
        manifest.sha256['../../escaped.sqlite'] = manifest.sha256['gatehouse.sqlite'];
        writeFileSync(path, JSON.stringify(manifest));
      },
      /not a complete backup/,
    ],
  ])('refuses a backup with %s, and leaves nothing', async (_name, damage, message) => {
    copyKey();
    damage();
    const { code, errors } = await restore();
    expect([code, errors]).toEqual([1, expect.stringMatching(message)]);
    expect(readdirSync(restored)).toEqual(['master.key']);
  });

  /** Replaces a file of the backup with a pipe, from which a restore reads when the test writes. */
  function pipeInsteadOf(name: string) {
    const content = readFileSync(join(backup, name));
    rmSync(join(backup, name));
    execFileSync('mkfifo', [join(backup, name)]);
    const pipe = openSync(join(backup, name), 'r+');
    return { write: () => writeSync(pipe, content), close: () => closeSync(pipe) };
  }

  const staged = () => readdirSync(restored).filter((name) => name.startsWith('restore-'));

  test('an interrupted restore is named', async () => {
    copyKey();
    const pipe = pipeInsteadOf('devices.sqlite');
    const program = join(import.meta.dirname, '../src/main.ts');
    const env = { ...process.env, DATA_DIR: restored };
    const child = spawn(process.execPath, [program, 'backup', 'restore', backup], { env });
    const ended = once(child, 'exit');
    await until(() => staged().length === 1);
    expect((await restore()).errors).toMatch(/restore-[0-9a-f]{8} belongs to another restore/);
    child.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
    pipe.close();
    expect((await restore()).errors).toMatch(/If none is running, delete it/);
  });

  test('leaves no file if a server creates a store meanwhile', async () => {
    copyKey();
    const pipe = pipeInsteadOf('devices.sqlite');
    const restoring = restore();
    await until(() => staged().length === 1);
    writeFileSync(join(restored, 'gatehouse.sqlite'), 'of a server');
    pipe.write();
    pipe.close();
    expect((await restoring).errors).toMatch(/nothing was changed: .*EEXIST/);
    expect(readdirSync(restored).toSorted()).toEqual(['gatehouse.sqlite', 'master.key']);
    expect(readFileSync(join(restored, 'gatehouse.sqlite'), 'utf8')).toBe('of a server');
  });

  test('needs both keys if a rotation of the master key was interrupted', async () => {
    await gatehouse('master-key rotate --yes');
    const path = join(data, 'master.key');
    const [first = '', next = '', ...lasting] = readFileSync(path, 'utf8').trim().split('\n');
    const current = next.replace('next ', '');
    // As `master-key rotate` leaves it, if it is killed after the first record.
    writeFileSync(path, [current, `previous ${first}`, ...lasting, ''].join('\n'));
    await inspect(data, ({ store }) => store.delete(['master-key-canary']));
    await gatehouse('clients list');
    expect((await saveAgain()).json.masterKeyIds).toHaveLength(2);

    copyKey();
    writeFileSync(join(restored, 'master.key'), [current, ...lasting, ''].join('\n'));
    const { code, errors } = await restore();
    expect(code).toBe(1);
    expect(errors).toMatch(/1 records of the backup need the master key [0-9a-f]{8}/);
    expect(readdirSync(restored)).toEqual(['master.key']);
    writeFileSync(join(restored, 'master.key'), readFileSync(path));
    expect((await restore()).code).toBe(0);
  });

  test('with an audit export, does not give back what was taken away after the backup', async () => {
    const user = async (name: string) => {
      const { json } = await gatehouse(`users add ${name} --org org-1 --generate`);
      return json.user.userId as string;
    };
    /** Adds a key. @returns its id, and the id of the older key */
    const rotate = async (clientId: string) => {
      const { json } = await gatehouse(`clients rotate-key ${clientId}`);
      const ids = (json.client.keys as { keyId: string }[]).map(({ keyId }) => keyId);
      return { added: json.keyId as string, older: ids.find((id) => id !== json.keyId) };
    };
    await gatehouse('clients add client-2 --org org-1 --scope device:read');
    await gatehouse('clients add client-3 --org org-1 --scope device:read');
    const keys = ['one', 'two'].map((kid) => ({
      ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
      kid,
    }));
    writeFileSync(join(directory, 'keys.json'), JSON.stringify({ keys }));
    const adding = `clients add client-6 --org org-1 --jwks ${join(directory, 'keys.json')}`;
    const [removedKey, keptKey] = (await gatehouse(adding)).json.client.publicKeyIds;
    const [alice, bob, carol] = [await user('alice'), await user('bob'), await user('carol')];
    const [dave, erin] = [await user('dave'), await user('erin')];
    const second = await rotate('client-2');
    await inspect(data, async ({ factors, passkeys, users }) => {
      for (const id of [dave, erin]) {
        const address = { email: `${id}@example.com`, emailVerified: true };
        await users.update(id, (each) => ({ ...each, ...address }));
      }
      const secret = factors.newSecret();
      await factors.enroll(bob, { secret, isFirst: true }, codeOfApp(secret));
      const passkey = { id: 'stolen', publicKey: 'AA', counter: 0, name: 'Phone', transports: [] };
      await passkeys.add(carol, { ...passkey, isDeviceBound: false, isBackedUp: false });
    });
    await saveAgain();

    await gatehouse('clients change client-1 --disable --yes');
    await gatehouse(`clients remove-key client-2 ${second.older} --yes`);
    await gatehouse(`clients remove-key client-6 ${removedKey} --yes`);
    const third = await rotate('client-3');
    await gatehouse(`clients remove-key client-3 ${third.older} --yes`);
    await gatehouse('users change alice --disable --yes');
    await gatehouse('users password bob --generate');
    await gatehouse('users change erin --email other@example.com');
    await gatehouse('clients add client-4 --org org-1 --scope device:read');
    await inspect(data, async ({ audit }) => {
      const event = { event: 'user_changed', userId: bob } as const;
      audit.record({ ...event, change: 'recovery_code_used' }, { actor: 'test' });
      audit.record({ ...event, userId: carol, change: 'passkey_removed' }, { actor: 'test' });
      audit.record({ ...event, userId: dave, change: 'email_verified' }, { actor: 'test' });
      await audit.flush();
    });
    const file = await exportTrail();

    copyKey();
    const { code, json } = await restore('--audit', file);
    expect(code).toBe(0);
    await inspect(restored, async ({ clients, users, factors }) => {
      expect(await factors.describe(bob)).toMatchObject({ recoveryCodes: 0 });
      expect(await clients.find('client-1')).toMatchObject({ enabled: false });
      const client = await clients.find('client-2');
      const keyIds = client && clients.describeKeys(client).map(({ keyId }) => keyId);
      expect(keyIds).toEqual([second.added]);
      expect(await clients.find('client-3')).toMatchObject({ enabled: false });
      const sixth = await clients.find('client-6');
      expect(sixth && clients.keyIds(sixth)).toEqual([keptKey]);
      expect(await users.find(alice)).toMatchObject({ enabled: false });
      expect(await users.find(bob)).toMatchObject({ enabled: false });
      expect(await users.find(carol)).toMatchObject({ enabled: false });
      for (const id of [dave, erin]) {
        expect(await users.find(id)).toMatchObject({ enabled: true, emailVerified: false });
      }
    });
    expect(json.replayed.repeat).toEqual([
      expect.stringMatching(/^Enable the client client-3 after you have rotated its key/),
      expect.stringMatching(/^Rotate the key of the client client-3/),
      'Add the client client-4 again.',
      'Set a new password for the user bob, then enable the user.',
      'Reset the second factors of the user carol: they changed later.',
      'Set the address of the user dave again.',
      'Set the address of the user erin again.',
      'Change the user erin again.',
    ]);

    expect(json.exportEndsAt).toMatch(/^20/);
    const trail = await run(restored, ['audit', 'list', '--limit', '100']);
    const recorded = (trail.json.entries as Record<string, unknown>[]).map(
      ({ event, change, clientId, userId }) => [event, change, clientId ?? userId],
    );
    expect(recorded).toEqual(
      expect.arrayContaining([
        ['client_changed', 'disabled', 'client-1'],
        ['client_changed', 'key_removed', 'client-2'],
        ['user_changed', 'disabled', bob],
        ['revocations_replayed', undefined, undefined],
      ]),
    );

    const again = await run(restored, ['audit', 'replay', file, '--since', '7d', '--yes']);
    expect(again.code).toBe(0);
    expect(again.json.changed).toEqual([]);
  });

  /** Applies a bootstrap file with this secure key of a client, and password of a user. */
  async function applyBootstrap(secureKey: string, password = 'Trombone-7 lake') {
    const file = join(directory, 'bootstrap.json');
    const definition = {
      organizations: [{ id: 'booted', name: 'Booted' }],
      clients: [{ clientId: 'booted', secureKey, name: 'Booted', orgId: 'booted' }],
      users: [{ username: 'carol', password, name: 'Carol', orgId: 'booted' }],
    };
    writeFileSync(file, JSON.stringify(definition), { mode: 0o600 });
    expect(await gatehouse(`bootstrap apply ${file}`)).toMatchObject({ code: 0 });
  }

  function saveAgain() {
    rmSync(backup, { recursive: true });
    return save();
  }

  async function exportTrail(): Promise<string> {
    const file = join(directory, 'audit.ndjson');
    await run(data, ['audit', 'export', '--file', file]);
    return file;
  }

  test('does not give back a key or a password that a bootstrap file replaced after the backup', async () => {
    await applyBootstrap('Qx7Zw2Kp9TfR4mVs');
    await saveAgain();
    await applyBootstrap('nQ3xV7mK9pT2wZ5r');
    await applyBootstrap('hJ6kL0sCaB8nD1fG', 'Another-8 river');
    const file = await exportTrail();
    copyKey();
    const { code, json } = await restore('--audit', file);
    expect(code).toBe(0);
    await inspect(restored, async ({ clients, users }) => {
      const client = await clients.find('booted');
      expect(clients.verifySecret(client, 'Qx7Zw2Kp9TfR4mVs')).toBe(false);
      expect(await users.findByUsername('carol')).toMatchObject({ enabled: false });
    });
    expect(json.replayed.repeat).toContain(
      'Apply the bootstrap file again: it was applied after the backup.',
    );
  });

  test('refuses an audit export without the line whose hash the operator kept', async () => {
    await gatehouse('clients change client-1 --disable --yes');
    const file = await exportTrail();
    const { json } = await gatehouse(`audit verify ${file}`);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const whole = lines.join('\n');
    writeFileSync(file, `${lines.slice(0, -1).join('\n')}\n`);
    copyKey();
    const options = ['--audit', file, '--hash', json.lastHash];
    expect((await restore(...options)).errors).toMatch(/none of its \d+ lines has this hash/);
    writeFileSync(file, `${whole}\n`);
    expect((await restore(...options)).code).toBe(0);
  });

  test('an id in an audit export does not control the terminal', async () => {
    const file = join(directory, 'audit.ndjson');
    const change = {
      event: 'client_changed',
      clientId: 'x\u001b[2J\nRestored',
      change: 'disabled',
    };
    const entry = { previous: null, id: 'a', at: new Date().toISOString(), ...change };
    writeFileSync(file, `${JSON.stringify(entry)}\n`);
    copyKey();
    const words = ['backup', 'restore', backup, '--audit', file];
    const { output } = await runGatehouse({ DATA_DIR: restored }, words);
    expect(output).toContain('Add the client x?[2J?Restored again.');
  });
});
