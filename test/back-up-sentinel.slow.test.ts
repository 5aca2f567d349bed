// requires: redis-server redis-cli postgresql
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  freePort,
  machineToken,
  oneClient,
  type RedisServer,
  startApp,
  startPostgresServer,
  startRedisServer,
  startSentinelTopology,
  until,
} from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, expect, test } from '@jest/globals';
import { commandsNamed, runCommands } from './operators-commands.ts';

const MASTER_NAME = 'the-master';
const secureKey = 'theSecureKeyOfThisTest0123456789';
const directory = temporaryFolder();
const environment = {
  BACKUP: join(directory, 'backup'),
  KEYS_BACKUP: join(directory, 'keys-backup'),
  MASTER_KEY_FILE: writeMasterKey(directory),
  COOKIE_KEYS_FILE: join(directory, 'cookie.keys'),
  MASTER_NAME,
};
writeFileSync(environment.COOKIE_KEYS_FILE, randomBytes(32).toString('hex'), { mode: 0o600 });
const postgres = await startPostgresServer();
const cleanups: (() => Promise<unknown>)[] = [postgres.stop];
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) {
    await cleanup();
  }
});

/** Starts the authorization server once, which fills the store, and returns a token. */
async function issueToken(storeUrl: string): Promise<string> {
  const bootstrap = join(directory, 'bootstrap.json');
  writeFileSync(bootstrap, JSON.stringify(oneClient(secureKey)), { mode: 0o600 });
  const port = await freePort();
  const app = await startApp('authorization-server', {
    ...environment,
    STORE_URL: storeUrl,
    BOOTSTRAP_FILE: bootstrap,
    AUTHORIZATION_SERVER_PORT: String(port),
    OPERATIONS_PORT: '0',
  });
  try {
    const server = { authorizationServerUrl: `http://localhost:${port}` };
    return await machineToken(server, secureKey);
  } finally {
    await app.stop();
  }
}

async function isAlive(storeUrl: string, token: string): Promise<boolean> {
  const masterKey = Buffer.from(readFileSync(environment.MASTER_KEY_FILE, 'utf8'), 'hex');
  const store = createStore(storeUrl);
  try {
    await until(() => store.ping());
    return (await openIdentity({ store, masterKey }).verifyAccessToken(token)) !== undefined;
  } finally {
    await store.close();
  }
}

async function start(options: Parameters<typeof startRedisServer>[0]): Promise<RedisServer> {
  const server = await startRedisServer(options);
  cleanups.push(server.stop);
  return server;
}

/** Steps 1 to 4 of the guide, with new servers. */
async function restoreServers(): Promise<{ master: RedisServer; storeUrl: string }> {
  const announce = ['--replica-announce-ip', '127.0.0.1'];
  const master = await start({ arguments: announce });
  await master.kill();
  runCommands(commandsNamed('restore-redis-files'), {
    ...environment,
    REDIS_DIRECTORY: master.directory,
  });
  await master.restart();
  const replicas = [];
  for (let number = 0; number < 2; number += 1) {
    const following = ['--replicaof', '127.0.0.1', String(master.port)];
    const replica = await start({ arguments: [...announce, '--appendonly', 'yes', ...following] });
    await replica.kill();
    const REDIS_DIRECTORY = replica.directory;
    writeFileSync(join(REDIS_DIRECTORY, 'dump.rdb'), 'data of the lost installation');
    mkdirSync(join(REDIS_DIRECTORY, 'appendonlydir'), { recursive: true });
    runCommands(commandsNamed('empty-replica'), { ...environment, REDIS_DIRECTORY });
    await replica.restart();
    replicas.push(replica);
  }
  runCommands(commandsNamed('wait-for-replicas'), {
    ...environment,
    REDIS_HOST: '127.0.0.1',
    REDIS_PORT: String(master.port),
    REDIS_REPLICAS: String(replicas.length),
  });
  const sentinel = await start({
    sentinel: [
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 1`,
      'sentinel announce-ip 127.0.0.1',
    ],
  });
  return { master, storeUrl: `redis+sentinel://127.0.0.1:${sentinel.port}/${MASTER_NAME}` };
}

test('an installation with Sentinel is backed up from a replica, and restored into new servers', async () => {
  const lost = await startSentinelTopology();
  cleanups.push(lost.stop);
  const token = await issueToken(lost.storeUrl);
  await postgres.sql("create table kept (name text); insert into kept values ('pump-1')");
  const listed = runCommands(commandsNamed('list-replicas'), {
    ...environment,
    SENTINEL_HOST: '127.0.0.1',
    SENTINEL_PORT: /:(\d+),/.exec(lost.storeUrl)?.[1],
  });
  expect(listed).toContain('master-link-status\nok\n');
  const port = Number(/^port\n(\d+)$/m.exec(listed)?.[1]);
  const [, ...replicas] = lost.nodes;
  const replica = replicas.find((node) => node.port === port);
  runCommands(commandsNamed('backup-redis-postgres'), {
    ...environment,
    DATABASE_URL: postgres.url,
    REDIS_HOST: '127.0.0.1',
    // Its proxy is in this process, which waits for the command.
    REDIS_PORT: String(replica?.server.port),
  });
  await lost.stop();
  rmSync(environment.MASTER_KEY_FILE);

  const { master, storeUrl } = await restoreServers();
  const commands = commandsNamed('restore-redis-postgres').trim().split('\n');
  const revocation = commands.pop() ?? '';
  const restored = {
    ...environment,
    STORE_URL: storeUrl,
    DATABASE_URL: await postgres.createDatabase('restored'),
    REDIS_HOST: '127.0.0.1',
    REDIS_PORT: String(master.port),
  };
  runCommands(commands.join('\n'), restored);
  expect(await isAlive(storeUrl, token)).toBe(true);
  expect(await postgres.sql('select name from kept', 'restored')).toContain('pump-1');
  expect(await master.command('CONFIG', 'GET', 'appendonly')).toContain('yes');

  runCommands(revocation, restored);
  expect(await isAlive(storeUrl, token)).toBe(false);
}, 300_000);
