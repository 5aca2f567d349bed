/**
 * Runs the commands of docs/operations/back-up-and-restore.md for containers in order: backup, loss
 * of every volume, restore, new secrets.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { basic } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { commandsNamed, runCommands } from '../operators-commands.ts';
import { callGateway, createDevice, registerUsers, requestToken, type Users } from './clients.ts';
import { createTier, docker, serviceOf, type Tier } from './tier.ts';

jest.setTimeout(180_000);

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'));
const backup = join(directory, 'backup');
const auditExport = join(directory, 'audit.ndjson');
let tier: Tier;
let users: Users;
let kept = '';
let revoked = '';
let refreshToken = '';

beforeAll(async () => {
  tier = await createTier();
  await tier.up();
  users = await registerUsers(tier);
  await createDevice(tier, users.web, 'pump-1');
});
afterAll(async () => {
  await tier.remove();
  rmSync(directory, { recursive: true });
});

function runBlock(name: string, folder = backup): void {
  runLines(commandsNamed(name), folder);
}

function runLines(commands: string, folder = backup): void {
  runCommands(commands, { ...tier.environment, BACKUP: folder });
}

async function issueToken(): Promise<string> {
  const { status, body } = await requestToken(tier, users.web, {
    grant_type: 'client_credentials',
  });
  expect(status).toBe(200);
  return body.access_token ?? '';
}

function listWith(token: string) {
  return callGateway(tier, '/api/device', { headers: { authorization: `Bearer ${token}` } });
}

function refresh() {
  return requestToken(tier, users.web, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });
}

/** Retries while the authorization server reconnects to a restarted store. */
async function revoke(token: string): Promise<void> {
  const send = () =>
    fetch(`${tier.authorizationServerUrl}/revoke`, {
      method: 'POST',
      headers: { authorization: basic(users.web.clientId, users.web.secureKey) },
      body: new URLSearchParams({ token }),
    });
  let reply = await send();
  while (reply.status === 503) {
    await sleep(200);
    reply = await send();
  }
  expect(reply.status).toBe(200);
}

/**
 * Checks in the restored store whether the token is valid, through a container for operators,
 * before an app runs.
 */
async function isAlive(token: string): Promise<boolean> {
  const script = `
    const { readFileSync } = await import('node:fs');
    const { openIdentity } = await import('@gatehouse/identity');
    const { createStore } = await import('@gatehouse/store');
    const read = (name) => readFileSync('/secrets/store/' + name, 'utf8').trim();
    const store = createStore(read('store-url'));
    const identity = openIdentity({ store, masterKey: Buffer.from(read('master.key'), 'hex') });
    console.log((await identity.verifyAccessToken('${token}')) !== undefined);
    await store.close();`;
  const node = ['--entrypoint', '/usr/local/bin/node', '-w', '/app/apps/cli', 'gatehouse'];
  const said = await tier.compose(
    'run',
    '--rm',
    '-T',
    '--no-deps',
    ...node,
    '--input-type=module',
    '--eval',
    script,
  );
  return JSON.parse(said) as boolean;
}

describe('a tier of containers', () => {
  test('is copied into files that no other user may read, and continues to run', async () => {
    kept = await issueToken();
    revoked = await issueToken();
    const signedIn = await requestToken(tier, users.web, {
      grant_type: 'password',
      ...users.alice,
    });
    refreshToken = signedIn.body.refresh_token ?? '';
    expect(refreshToken).not.toBe('');
    runBlock('backup-containers');
    const modes = ['.', ...readdirSync(backup)].map((name) => [
      name,
      (statSync(join(backup, name)).mode & 0o777).toString(8),
    ]);
    expect(Object.fromEntries(modes)).toEqual({
      '.': '700',
      'secrets.tar': '600',
      'devices.dump': '600',
      'created-at': '600',
      'store.rdb': '600',
    });
    await untilServed();
  });

  /** Waits until each app has reconnected to its store. */
  async function untilServed(): Promise<void> {
    const statuses = async () => [
      (await listWith(kept)).status,
      (await requestToken(tier, users.web, { grant_type: 'client_credentials' })).status,
    ];
    for (let i = 0; i < 50 && (await statuses()).includes(503); i += 1) {
      await sleep(200);
    }
    expect(await statuses()).toEqual([200, 200]);
    expect([(await listWith(kept)).status, (await listWith(revoked)).status]).toEqual([200, 200]);
  }

  test('continues after a failed copy, and keeps the volumes without a complete copy', async () => {
    const broken = join(directory, 'broken');
    mkdirSync(join(broken, 'store.rdb'), { recursive: true });
    expect(() => runBlock('backup-containers', broken)).toThrow('store.rdb: Is a directory');
    await untilServed();
    expect(() => runBlock('empty-containers', broken)).toThrow();
    await untilServed();
  });

  test('loses every volume', async () => {
    await revoke(revoked);
    expect((await listWith(revoked)).status).toBe(401);
    await tier.gatehouse('clients', 'change', '--disable', users.implicit.clientId, '--yes');
    const exported = ['run', '--rm', '-T', '--no-deps', 'gatehouse', 'audit', 'export'];
    writeFileSync(auditExport, await tier.compose(...exported));
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
    expect([await isAlive(kept), await isAlive(revoked)]).toEqual([true, true]);
    runLines(last);
    expect([await isAlive(kept), await isAlive(revoked)]).toEqual([false, false]);
    const running = (await tier.containers()).filter(({ State }) => State.Status === 'running');
    expect(running.map(serviceOf).sort()).toEqual(['postgres', 'redis']);
  });

  test('does not give back a client that was disabled after the backup', async () => {
    const said = runCommands(commandsNamed('replay-containers'), {
      ...tier.environment,
      BACKUP: backup,
      AUDIT_EXPORT: auditExport,
    });
    expect(said).toContain(`Disabled the client ${users.implicit.clientId}`);
    expect(await tier.gatehouse('clients', 'list')).toMatchObject({
      clients: expect.arrayContaining([
        expect.objectContaining({ clientId: users.implicit.clientId, enabled: false }),
      ]),
    });
  });

  test('has its clients, users and devices again, and rejects old tokens', async () => {
    runBlock('start-containers');
    // Credentials that are issued within a second of a revocation are also revoked
    // (docs/decisions/16-revocation.md).
    await sleep(2000);
    expect([(await listWith(kept)).status, (await listWith(revoked)).status]).toEqual([401, 401]);
    expect(await refresh()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await listWith(await issueToken())).toMatchObject({
      status: 200,
      body: { result: [{ id: 'pump-1', orgId: 'acme' }] },
    });
    expect(await createDevice(tier, users.web, 'pump-2')).toMatchObject({ status: 200 });
    const person = await requestToken(tier, users.web, { grant_type: 'password', ...users.alice });
    expect(person.status).toBe(200);
  });
});

describe('a tier of containers whose secrets became known', () => {
  const files = {
    database: '/secrets/database/database-url',
    store: '/secrets/store/store-url',
    operator: '/secrets/operator/redis-password',
  };
  const read = (path: string) =>
    tier.compose('run', '--rm', '-T', '--no-deps', '--entrypoint', 'cat', 'secrets', path);

  async function isWhole(): Promise<void> {
    expect(await listWith(await issueToken())).toMatchObject({ status: 200 });
  }

  /**
   * Signs alice in, runs the commands, and revokes tokens. Some commands restart Redis, which must
   * lose no data.
   */
  async function renew(block: string): Promise<void> {
    const signedIn = await requestToken(tier, users.web, {
      grant_type: 'password',
      ...users.alice,
    });
    const { access_token: access = '', refresh_token: refresh = '' } = signedIn.body;
    runBlock(block);
    while ((await listWith(access)).status === 503) {
      await sleep(200);
    }
    expect((await listWith(access)).status).toBe(200);
    await revoke(refresh);
    expect((await listWith(access)).status).toBe(401);
  }

  test('has a new master key without a restart, and its tokens stay valid', async () => {
    const token = await issueToken();
    const before = await read('/secrets/store/master.key');
    runBlock('rotate-master-key-containers');
    const [first, previous] = (await read('/secrets/store/master.key')).split('\n');
    expect([first, previous]).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      `previous ${before.trim()}`,
    ]);
    const words = ['run', '--rm', '-T', '--no-deps', 'master-key', 'rotate', '--finish', '--yes'];
    await expect(tier.compose(...words)).rejects.toThrow(
      /need the previous key for \d+ more minutes/,
    );
    expect((await listWith(token)).status).toBe(200);
    await isWhole();
  });

  test('has a new password for its database, and rejects the old one', async () => {
    const { password } = new URL(await read(files.database));
    const signIn = () => {
      const query = ['psql', '-XAtq', '-h', 'postgres', '-U', 'gatehouse_devices', 'devices'];
      const words = ['exec', '-T', '-e', `PGPASSWORD=${password}`, 'postgres', ...query];
      return tier.compose(...words, '-c', 'select 1');
    };
    expect(await signIn()).toBe('1\n');
    await renew('renew-database-password');
    await expect(signIn()).rejects.toThrow('password authentication failed');
    await isWhole();
  });

  test('has a new password for its store, and rejects the old one', async () => {
    const { password } = new URL(await read(files.store));
    const ask = () => {
      const login = ['--user', 'gatehouse', '--pass', password, '--no-auth-warning'];
      return tier.compose('exec', '-T', 'redis', 'redis-cli', ...login, 'GET', 'nothing');
    };
    expect(await ask()).not.toMatch(/NOAUTH|WRONGPASS|NOPERM/);
    await renew('renew-store-password');
    expect(await ask().catch(String)).toMatch(/NOAUTH|WRONGPASS|NOPERM/);
    await isWhole();
  });

  test('has a new password for the operators’ Redis user, and rejects the old one', async () => {
    const before = await read(files.operator);
    await renew('renew-operator-password');
    expect(await read(files.operator)).not.toBe(before);
    const ask = (password: string) => {
      const login = ['--user', 'operator', '--pass', password, '--no-auth-warning'];
      return tier.compose('exec', '-T', 'redis', 'redis-cli', ...login, 'DBSIZE').catch(String);
    };
    expect(await ask(before.trim())).toMatch(/NOAUTH|WRONGPASS/);
    expect(await tier.compose('run', '--rm', '-T', 'redis-cli', 'dbsize')).toMatch(/^\d+\n$/);
    await isWhole();
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
    const before = [await read(files.store), await read(files.operator)];
    const words = ['run', '--rm', '-T', '--no-deps', 'secrets'];
    const renewal = tier.compose(...words, 'scripts/container/make-secrets.ts', ...wrong);
    await expect(renewal).rejects.toThrow('--renew accepts one of: store, database, operator');
    expect([await read(files.store), await read(files.operator)]).toEqual(before);
  });
});

test('the commands to set the password repair a PostgreSQL that was interrupted at its first start', async () => {
  const superuser = ['psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-U', 'postgres', '-d', 'postgres'];
  await tier.compose('stop', 'device-service');
  const missing = ['drop database devices', 'drop role gatehouse_devices'];
  const words = missing.flatMap((command) => ['-c', command]);
  await tier.compose('exec', '-T', 'postgres', ...superuser, ...words);
  runBlock('set-database-password');
  expect(await listWith(await issueToken())).toMatchObject({ status: 200 });
});
