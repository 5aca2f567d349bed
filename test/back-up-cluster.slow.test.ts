// requires: redis-server redis-cli
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import {
  freePort,
  type RedisServer,
  startClusterTopology,
  startRedisServer,
  until,
} from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { commandsNamed, runCommands } from './operators-commands.ts';

const KEYS = Array.from({ length: 200 }, (_, number) => `key-${number}`);
const masterKey = randomBytes(32);

async function withStore<Result>(url: string, work: (store: Store) => Promise<Result>) {
  const store = createStore(url);
  try {
    await until(() => store.ping());
    return await work(store);
  } finally {
    await store.close();
  }
}

interface RestoredNode {
  readonly server: RedisServer;
  readonly address: string;
}

/** An empty Redis in cluster mode that loads the file, as step 1 of the guide describes. */
async function startWith(file: string): Promise<RestoredNode> {
  const busPort = await freePort();
  const server = await startRedisServer({
    arguments: [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(busPort),
      '--appendonly',
      'no',
    ],
  });
  await server.kill();
  rmSync(join(server.directory, 'nodes.conf'), { force: true });
  copyFileSync(file, join(server.directory, 'dump.rdb'));
  await server.restart();
  return { server, address: `127.0.0.1 ${server.port} ${busPort}` };
}

test('a cluster is backed up, and restored into new servers', async () => {
  const backup = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'));
  const cluster = await startClusterTopology();
  const restored: RestoredNode[] = [];
  try {
    await withStore(cluster.storeUrl, async (store) => {
      const { organizations } = openIdentity({ store, masterKey });
      await organizations.save({ id: 'acme', name: 'Acme' });
      await Promise.all(KEYS.map((key) => store.set(key, `value of ${key}`, 3600)));
    });
    const address = (port: number | undefined) => ({
      REDIS_HOST: '127.0.0.1',
      REDIS_PORT: String(port),
    });
    const environment = { BACKUP: backup };
    runCommands(commandsNamed('backup-cluster'), {
      ...environment,
      ...address(cluster.nodes[0]?.port),
    });
    await cluster.stop();

    const files = readdirSync(join(backup, 'cluster')).filter((name) => name.endsWith('.rdb'));
    expect(files).toHaveLength(3);
    for (const file of files) {
      restored.push(await startWith(join(backup, 'cluster', file)));
    }
    runCommands(commandsNamed('restore-cluster'), {
      ...environment,
      ...address(restored[0]?.server.port),
      REDIS_NODES: restored.map((node) => node.address).join('\n'),
      REDIS_MASTERS: '3',
    });

    const hosts = restored.map(({ server }) => `127.0.0.1:${server.port}`);
    await withStore(`redis+cluster://${hosts.join(',')}`, async (store) => {
      const { organizations } = openIdentity({ store, masterKey });
      expect(await organizations.find('acme')).toMatchObject({ name: 'Acme' });
      const values = await Promise.all(KEYS.map((key) => store.get(key)));
      expect(values).toEqual(KEYS.map((key) => `value of ${key}`));
    });
    for (const { server } of restored) {
      expect(await server.command('CONFIG', 'GET', 'appendonly')).toContain('yes');
    }
  } finally {
    await Promise.all(restored.map(({ server }) => server.stop()));
    rmSync(backup, { recursive: true });
  }
}, 300_000);
