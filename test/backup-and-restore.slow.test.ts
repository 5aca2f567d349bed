// requires: redis-server redis-cli postgresql sqlite3
/**
 * Runs the commands of docs/operations/back-up-and-restore.md in order: backup, loss of all data,
 * restore.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  type AppProcess,
  authorizeAsUser,
  freePort,
  machineToken,
  type PostgresServer,
  postAs,
  type RedisServer,
  startApp,
  startPostgresServer,
  startRedisServer,
} from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { commandsNamed, commandsUnder, runCommands } from './operators-commands.ts';

const engines = ['sqlite', 'redis and postgres'] as const;

describe.each(engines)('an installation on %s', (engine) => {
  const directory = temporaryFolder();
  const data = join(directory, 'data');
  const backup = join(directory, 'backup');
  const keysBackup = join(directory, 'keys-backup');
  const auditExport = join(directory, 'audit.ndjson');
  const isSqlite = engine === 'sqlite';
  let redis: RedisServer | undefined;
  let postgres: PostgresServer | undefined;
  let environment: Record<string, string>;
  let storeUrl: string;
  let running: readonly AppProcess[] = [];
  let secureKey = '';
  const alice = { username: 'alice', password: '' };

  beforeAll(async () => {
    mkdirSync(data, { mode: 0o700 });
    const ports = await Promise.all(Array.from({ length: 4 }, freePort));
    const [server, gateway, gatewayOperations, devices] = ports;
    const bootstrap = join(directory, 'bootstrap.json');
    writeFileSync(bootstrap, '{}', { mode: 0o600 });
    environment = {
      DATA_DIR: data,
      BACKUP: backup,
      KEYS_BACKUP: keysBackup,
      AUDIT_EXPORT: auditExport,
      BOOTSTRAP_FILE: bootstrap,
      AUTHORIZATION_SERVER_PORT: String(server),
      GATEWAY_PORT: String(gateway),
      DEVICE_SERVICE_PORT: String(devices),
      GATEWAY_OPERATIONS: String(gatewayOperations),
      AUTHORIZATION_SERVER_URL: `http://localhost:${server}`,
      DEVICE_SERVICE_URL: `http://127.0.0.1:${devices}`,
      GATEWAY_JWKS_URL: `http://127.0.0.1:${gatewayOperations}/.well-known/jwks.json`,
    };
    storeUrl = `sqlite:${join(data, 'gatehouse.sqlite')}`;
    if (!isSqlite) {
      redis = await startRedisServer();
      // Unlike an argument, the setting ends with the process, so that a restart reads the snapshot.
      await redis.command('CONFIG', 'SET', 'appendonly', 'yes');
      postgres = await startPostgresServer();
      storeUrl = redis.url;
      Object.assign(environment, {
        STORE_URL: redis.url,
        DATABASE_URL: postgres.url,
        REDIS_HOST: '127.0.0.1',
        REDIS_PORT: String(redis.port),
        REDIS_DIRECTORY: redis.directory,
        MASTER_KEY_FILE: writeMasterKey(data),
      });
    }
    await start();
  });
  afterAll(async () => {
    await stop();
    await Promise.all([redis?.stop(), postgres?.stop()]);
  });

  async function start(): Promise<void> {
    const { GATEWAY_OPERATIONS = '', ...shared } = environment;
    const operations = { OPERATIONS_PORT: '0' };
    running = await Promise.all([
      startApp('authorization-server', { ...shared, ...operations }),
      startApp('gateway', { ...shared, OPERATIONS_PORT: GATEWAY_OPERATIONS }),
      startApp('device-service', { ...shared, ...operations }),
    ]);
  }

  async function stop(): Promise<void> {
    await Promise.all(running.map((each) => each.stop()));
    running = [];
  }

  const operate = (words: string) => runCommands(`npm run -s gatehouse -- ${words}`, environment);

  const issuer = () => environment.AUTHORIZATION_SERVER_URL ?? '';
  const issueToken = () =>
    machineToken({ authorizationServerUrl: issuer() }, secureKey, 'dashboard');

  async function call(token: string, init: RequestInit = {}, path = '/api/device') {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const url = `http://localhost:${environment.GATEWAY_PORT}${path}`;
    const reply = await fetch(url, { ...init, headers });
    return { status: reply.status, body: (await reply.json()) as { result?: unknown } };
  }

  async function signIn(): Promise<string> {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'dashboard',
      scope: 'openid',
      redirect_uri: 'https://app.example/callback',
    });
    const url = `${issuer()}/authorize?${query}`;
    return (await authorizeAsUser(url, alice)).searchParams.get('code') ?? '';
  }

  /** Queries the store directly, before a server uses it. */
  async function isAlive(token: string): Promise<boolean> {
    const masterKey = Buffer.from(readFileSync(join(data, 'master.key'), 'utf8').trim(), 'hex');
    const store = createStore(storeUrl);
    try {
      const identity = openIdentity({ store, masterKey });
      return (await identity.verifyAccessToken(token)) !== undefined;
    } finally {
      await store.close();
    }
  }

  let kept = '';
  let revoked = '';

  test('gets its first client and user from the commands of the guide', async () => {
    const shown = runCommands(commandsUnder('Create the first client and user', 0), environment);
    secureKey = /Secure key \(shown once\): (\S+)/.exec(shown)?.[1] ?? '';
    alice.password = /Password \(shown once\): (\S+)/.exec(shown)?.[1] ?? '';
    kept = await issueToken();
    revoked = await issueToken();
    expect((await call(kept)).status).toBe(200);
    expect(await signIn()).not.toBe('');
    const look = runCommands(commandsUnder('Create the first client and user', 1), environment);
    expect(look).toContain('dashboard');
    expect(look).toContain('user_changed');
    expect(look).not.toContain(secureKey);
  });

  test('is copied while it runs', async () => {
    const body = '{"id":"pump-1","name":"Pump 1","productId":"pump","productName":"Pump"}';
    expect((await call(kept, { method: 'POST', body }, '/device-instance')).status).toBe(200);
    const name = isSqlite ? 'backup-sqlite' : 'backup-redis-postgres';
    runCommands(commandsNamed(name), environment);
  });

  test('is restored after the loss of all data, and revoked credentials stay revoked', async () => {
    const client = { clientId: 'dashboard', secureKey };
    expect((await postAs(`${issuer()}/revoke`, client, { token: revoked })).status).toBe(200);
    expect((await call(revoked)).status).toBe(401);
    operate('organizations add later');
    operate('clients add later --org later --scope device:read');
    operate('clients change later --disable --yes');
    operate(`audit export --file ${auditExport}`);
    await stop();
    const masterKey = readFileSync(join(data, 'master.key'));
    rmSync(data, { recursive: true });
    mkdirSync(data, { mode: 0o700 });
    if (isSqlite) {
      writeFileSync(join(data, 'master.key'), masterKey, { mode: 0o600 });
      runCommands(commandsNamed('restore-sqlite'), environment);
    } else {
      await redis?.kill();
      await postgres?.sql('drop database gatehouse', 'postgres');
      await postgres?.createDatabase('gatehouse');
      runCommands(commandsNamed('restore-redis-files'), environment);
      await redis?.restart();
      await restore('restore-redis-postgres');
      const said = runCommands(commandsNamed('replay-redis-postgres'), environment);
      expect(said).toContain('Add the client later again.');
    }
    expect([await isAlive(kept), await isAlive(revoked)]).toEqual([false, false]);
  });

  /**
   * Runs all commands except the last, checks that tokens still work, and then runs the last one,
   * which revokes them.
   */
  async function restore(name: string): Promise<void> {
    const commands = commandsNamed(name).trim().split('\n');
    const last = commands.pop() ?? '';
    expect(last).toContain('tokens revoke --all');
    runCommands(commands.join('\n'), environment);
    expect([await isAlive(kept), await isAlive(revoked)]).toEqual([true, true]);
    runCommands(last, environment);
  }

  test('has its clients, users and devices again, and rejects old tokens', async () => {
    await start();
    // Credentials that are issued within a second of a revocation are also revoked
    // (docs/decisions/16-revocation.md).
    await sleep(2000);
    expect((await call(kept)).status).toBe(401);
    expect((await call(revoked)).status).toBe(401);
    const { status, body } = await call(await issueToken());
    expect([status, body.result]).toEqual([200, [expect.objectContaining({ id: 'pump-1' })]]);
    expect(await signIn()).not.toBe('');
  });
});
