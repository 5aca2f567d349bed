import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { makeTierSecrets } from '../scripts/container/tier-secrets.ts';
import { root } from './source-tree.ts';

/** A redis-server with the configuration, users and passwords of the containers. */
export interface ContainerRedis {
  readonly server: RedisServer;
  /** For the user of the store. */
  readonly storeUrl: string;
  /** For the user of operators. */
  readonly operatorUrl: string;
  /** Runs the service `secrets` again. */
  makeSecrets(): void;
  readonly aclFile: string;
  stop(): Promise<void>;
}

/**
 * @param users replaces the ACL file by lines that are derived from those of the service `secrets`
 */
export async function startContainerRedis(
  users?: (aclFile: string) => string,
): Promise<ContainerRedis> {
  const secrets = await mkdtemp(join(tmpdir(), 'gatehouse-secrets-'));
  for (const folder of ['store', 'cookies', 'database', 'operator', 'redis', 'postgres']) {
    await mkdir(join(secrets, folder));
  }
  makeTierSecrets(secrets);
  const aclFile = join(secrets, 'redis', 'users.acl');
  const read = (name: string) => readFileSync(join(secrets, name), 'utf8').trim();
  const store = new URL(read('store/store-url'));
  if (users !== undefined) {
    const lines = users(read('redis/users.acl'));
    // The file is read-only.
    rmSync(aclFile);
    writeFileSync(aclFile, lines);
  }
  const server = await startRedisServer({
    // The store's user may not send PING.
    username: 'health',
    password: 'none',
    arguments: [...containerSettings(), '--aclfile', aclFile],
  });
  const urlFor = (username: string, password: string) =>
    `redis://${username}:${password}@127.0.0.1:${server.port}`;
  return {
    server,
    storeUrl: urlFor(store.username, store.password),
    operatorUrl: urlFor('operator', read('operator/redis-password')),
    makeSecrets: () => makeTierSecrets(secrets),
    aclFile,
    async stop() {
      await server.stop();
      rmSync(secrets, { recursive: true });
    },
  };
}

/**
 * containers/redis.conf without its paths. With `everysec`, a killed Redis can lose acknowledged
 * writes that wait for an fsync, so this one leaves writing to the operating system.
 */
function containerSettings(): readonly string[] {
  const lines = readFileSync(join(root, 'containers/redis.conf'), 'utf8').split('\n');
  const settings = lines.map((line) => /^([a-z-]+) (.*)$/.exec(line)?.slice(1) ?? []);
  return settings.flatMap(([name = '', value = '']) =>
    ['', 'aclfile', 'appendfsync', 'bind', 'dir'].includes(name)
      ? []
      : [`--${name}`, value === '""' ? '' : value],
  );
}
