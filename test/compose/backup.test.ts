/**
 * Runs the commands of docs/operations/back-up-and-restore.md for containers in order: backup, loss
 * of every volume, restore, new secrets.
 */

import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, jest, test } from '@jest/globals';
import { commandsNamed, runCommands } from '../operators-commands.ts';
import { createDevice, startTierInUse } from './clients.ts';
import { docker, serviceOf } from './tier.ts';

jest.setTimeout(180_000);

const directory = temporaryFolder();
const backup = join(directory, 'backup');
const auditExport = join(directory, 'audit.ndjson');

const { tier, users, newToken, listWith, refresh, revoke, signIn, token } = await startTierInUse();
let kept = '';
let revoked = '';
let refreshToken = '';

const runLines = (commands: string, BACKUP = backup) =>
  runCommands(commands, { ...tier.environment, BACKUP, AUDIT_EXPORT: auditExport });
const runBlock = (name: string, folder = backup) => runLines(commandsNamed(name), folder);
const statusOf = async (accessToken: string) => (await listWith(accessToken)).status;

/** Retries while the authorization server reconnects to a restarted store. */
async function revokeOnce(value: string): Promise<void> {
  await until(async () => (await revoke(value)) === 200, 60);
}

/** Waits until each app has reconnected to its store. */
const untilServed = () =>
  until(async () => {
    const { status } = await token({ grant_type: 'client_credentials' });
    expect([status, await statusOf(kept), await statusOf(revoked)]).toEqual([200, 200, 200]);
  }, 60);

/** Whether these tokens are valid in the restored store, before an app runs. */
async function areAlive(): Promise<readonly boolean[]> {
  const script = `
    const { readFileSync } = await import('node:fs');
    const { openIdentity } = await import('@gatehouse/identity');
    const { createStore } = await import('@gatehouse/store');
    const read = (name) => readFileSync('/secrets/store/' + name, 'utf8').trim();
    const store = createStore(read('store-url'));
    const identity = openIdentity({ store, masterKey: Buffer.from(read('master.key'), 'hex') });
    const found = await Promise.all(${JSON.stringify([kept, revoked])}.map(identity.verifyAccessToken));
    console.log(JSON.stringify(found.map((each) => each !== undefined)));
    await store.close();`;
  const node = ['--entrypoint', '/usr/local/bin/node', '-w', '/app/apps/cli', 'gatehouse'];
  return JSON.parse(await tier.runOnce(...node, '--input-type=module', '--eval', script));
}

describe('a tier of containers', () => {
  test('is copied into files that no other user may read, and continues to run', async () => {
    kept = await newToken();
    revoked = await newToken();
    refreshToken = (await signIn()).body.refresh_token ?? '';
    expect(refreshToken).not.toBe('');
    runBlock('backup-containers');
    const modes = ['.', ...readdirSync(backup)].map((name) => [
      name,
      (statSync(join(backup, name)).mode & 0o777).toString(8),
    ]);
    const copies = ['secrets.tar', 'devices.dump', 'created-at', 'store.rdb'];
    expect(Object.fromEntries(modes)).toEqual({
      '.': '700',
      ...Object.fromEntries(copies.map((name) => [name, '600'])),
    });
    await untilServed();
  });

  test('continues after a failed copy, and keeps the volumes without a complete copy', async () => {
    const broken = join(directory, 'broken');
    mkdirSync(join(broken, 'store.rdb'), { recursive: true });
    expect(() => runBlock('backup-containers', broken)).toThrow('store.rdb: Is a directory');
    await untilServed();
    expect(() => runBlock('empty-containers', broken)).toThrow();
    await untilServed();
  });

  test('loses every volume', async () => {
    await revokeOnce(revoked);
    expect(await statusOf(revoked)).toBe(401);
    await tier.gatehouse('clients', 'change', '--disable', users.implicit.clientId, '--yes');
    writeFileSync(auditExport, await tier.runOnce('gatehouse', 'audit', 'export'));
    runBlock('empty-containers');
    const volumes = await docker('volume', 'ls', '-q', '--filter', `name=${tier.project}_`);
    expect([await tier.containers(), volumes]).toEqual([[], '']);
  });

  test('has its store again, and revokes earlier tokens before an app runs', async () => {
    const commands = commandsNamed('restore-containers').trim().split('\n');
    const last = commands.pop() ?? '';
    expect(last).toContain('tokens revoke --all');
    runLines(commands.join('\n'));
    // Tokens that a restore without the last command would accept.
    expect(await areAlive()).toEqual([true, true]);
    runLines(last);
    expect(await areAlive()).toEqual([false, false]);
    const running = (await tier.containers()).filter(({ State }) => State.Status === 'running');
    expect(running.map(serviceOf).sort()).toEqual(['postgres', 'redis']);
  });

  test('does not give back a client that was disabled after the backup', async () => {
    const { clientId } = users.implicit;
    expect(runBlock('replay-containers')).toContain(`Disabled the client ${clientId}`);
    const client = expect.objectContaining({ clientId, enabled: false });
    const { clients } = (await tier.gatehouse('clients', 'list')) as { clients: unknown };
    expect(clients).toEqual(expect.arrayContaining([client]));
  });

  test('has its clients, users and devices again, and rejects old tokens', async () => {
    runBlock('start-containers');
    // Credentials that are issued within a second of a revocation are also revoked
    // (docs/decisions/16-revocation.md).
    await sleep(2000);
    expect([await statusOf(kept), await statusOf(revoked)]).toEqual([401, 401]);
    const refreshed = await refresh(refreshToken);
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
    const result = [{ id: 'pump-1', orgId: 'acme' }];
    expect(await listWith(await newToken())).toMatchObject({ status: 200, body: { result } });
    expect(await createDevice(tier, users.web, 'pump-2')).toMatchObject({ status: 200 });
    expect((await signIn()).status).toBe(200);
  });
});

describe('a tier of containers whose secrets became known', () => {
  const files = {
    database: '/secrets/database/database-url',
    store: '/secrets/store/store-url',
    operator: '/secrets/operator/redis-password',
    master: '/secrets/store/master.key',
  };
  /** No secret is empty, but compose can lose the output of a container that ends at once. */
  async function read(path: string): Promise<string> {
    const text = await tier.runOnce('--entrypoint', 'cat', 'secrets', path);
    return text === '' ? read(path) : text;
  }
  const isWhole = async () => expect(await statusOf(await newToken())).toBe(200);
  const askRedis = (user: string, password: string) =>
    tier
      .exec(
        'redis',
        'redis-cli',
        '--user',
        user,
        '--pass',
        password,
        '--no-auth-warning',
        'GET',
        'x',
      )
      .catch(String);
  const rejected = /NOAUTH|WRONGPASS/;

  /**
   * Signs alice in, runs the commands, and revokes tokens. Some commands restart Redis, which must
   * lose no data.
   */
  async function renew(block: string): Promise<void> {
    const { access_token: access = '', refresh_token: value = '' } = (await signIn()).body;
    runBlock(block);
    await until(async () => (await statusOf(access)) === 200, 60);
    await revokeOnce(value);
    expect(await statusOf(access)).toBe(401);
    await isWhole();
  }

  test('has a new master key without a restart, and its tokens stay valid', async () => {
    const value = await newToken();
    const before = await read(files.master);
    runBlock('rotate-master-key-containers');
    const [first, previous] = (await read(files.master)).split('\n');
    expect([first, previous]).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      `previous ${before.trim()}`,
    ]);
    const words = ['run', '--rm', '-T', '--no-deps', 'master-key', 'rotate', '--finish', '--yes'];
    await expect(tier.compose(...words)).rejects.toThrow(
      /need the previous key for \d+ more minutes/,
    );
    expect(await statusOf(value)).toBe(200);
    await isWhole();
  });

  test('has a new password for its database, and rejects the old one', async () => {
    const { password } = new URL(await read(files.database));
    const ask = () => {
      const query = ['psql', '-XAtq', '-h', 'postgres', '-U', 'gatehouse_devices', 'devices'];
      return tier.exec('-e', `PGPASSWORD=${password}`, 'postgres', ...query, '-c', 'select 1');
    };
    expect(await ask()).toBe('1\n');
    await renew('renew-database-password');
    await expect(ask()).rejects.toThrow('password authentication failed');
  });

  test('has a new password for its store, and rejects the old one', async () => {
    const { password } = new URL(await read(files.store));
    expect(await askRedis('gatehouse', password)).not.toMatch(/NOAUTH|WRONGPASS|NOPERM/);
    await renew('renew-store-password');
    expect(await askRedis('gatehouse', password)).toMatch(rejected);
  });

  test('has a new password for the operators’ Redis user, and rejects the old one', async () => {
    const before = await read(files.operator);
    await renew('renew-operator-password');
    expect(await read(files.operator)).not.toBe(before);
    expect(await askRedis('operator', before.trim())).toMatch(rejected);
    expect(await tier.compose('run', '--rm', '-T', 'redis-cli', 'dbsize')).toMatch(/^\d+\n$/);
  });

  test('keeps everything in Redis over all restarts', async () => {
    const log = await tier.compose('logs', '--no-color', 'redis');
    expect(log).toContain('DB loaded from append only file');
    expect(log).not.toMatch(/CRITICAL|NOPERM/);
  });

  test.each([
    [['--renew', 'all']],
    [['--renew']],
    [['renew', 'store']],
    [['--renew', 'store', '--renew', 'operator']],
  ])('changes nothing for %j, which does not name exactly one secret', async (wrong) => {
    const secrets = async () => [await read(files.store), await read(files.operator)];
    const before = await secrets();
    const renewal = tier.runOnce('secrets', 'scripts/container/make-secrets.ts', ...wrong);
    await expect(renewal).rejects.toThrow('--renew accepts one of: store, database, operator');
    expect(await secrets()).toEqual(before);
  });
});

test('the commands to set the password repair a PostgreSQL that was interrupted at its first start', async () => {
  await tier.compose('stop', 'device-service');
  const superuser = ['psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-U', 'postgres', '-d', 'postgres'];
  const missing = ['-c', 'drop database devices', '-c', 'drop role gatehouse_devices'];
  await tier.exec('postgres', ...superuser, ...missing);
  runBlock('set-database-password');
  expect(await statusOf(await newToken())).toBe(200);
});
