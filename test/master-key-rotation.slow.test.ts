// requires: redis-server
/** Replaces the master key of running apps under load, interrupts it, continues, and completes it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { createSealer, masterKeyId, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  createVirtualUser,
  integrationEngines,
  manyUsers,
  startBalancedSystem,
  until,
  userClient,
} from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from '../apps/cli/test/run-gatehouse.ts';
import { commandsNamed } from './operators-commands.ts';
import { root } from './source-tree.ts';

const USERS = 4;
/** Enough that an interruption leaves some of them. */
const CLIENTS = 150;
const HOUR = 3_600_000;
const unlimited = '10000000/60';

describe.each(integrationEngines)('on %s', (engine) => {
  const directory = temporaryFolder();
  const MASTER_KEY_FILE = writeMasterKey(directory);
  let balanced: Awaited<ReturnType<typeof startBalancedSystem>>;
  let environment: Record<string, string>;

  beforeAll(async () => {
    const bootstrap = manyUsers(CLIENTS) as { users: unknown[] };
    balanced = await startBalancedSystem({
      engine,
      bootstrap: { ...bootstrap, users: bootstrap.users.slice(0, USERS) },
      environment: {
        MASTER_KEY_FILE,
        LOG_LEVEL: 'warn',
        CLIENT_RATE_LIMIT: unlimited,
        ADDRESS_RATE_LIMIT: unlimited,
        CLIENT_ENDPOINT_RATE_LIMIT: '100000/60',
        PAGE_RATE_LIMIT: '100000/60',
      },
    });
    environment = { STORE_URL: balanced.system.storeUrl, MASTER_KEY_FILE, DATA_DIR: directory };
  });
  afterAll(() => balanced.stop());

  const firstKey = () => Buffer.from(readFileSync(MASTER_KEY_FILE, 'utf8').slice(0, 64), 'hex');
  const gatehouse = (words: string) => runGatehouse(environment, [...words.split(' '), '--json']);

  /** Unlike `runCommands`, lets the users of this process continue. */
  async function followGuide(name: 'add-master-key' | 'rotate-master-key' | 'finish-master-key') {
    const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
    const options = { cwd: root, env: { PATH, ...environment } };
    await promisify(execFile)('bash', ['-euc', commandsNamed(name)], options);
  }

  async function withStore<Result>(
    work: (store: ReturnType<typeof createStore>) => Promise<Result>,
  ): Promise<Result> {
    const store = createStore(balanced.system.storeUrl);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  /** Runs the command in a process, and kills it when the first record has changed. */
  async function interruptRotation(oldKey: Buffer): Promise<void> {
    const words = ['apps/cli/src/main.ts', 'master-key', 'rotate', '--yes'];
    const command = spawn(process.execPath, words, {
      env: { PATH: process.env.PATH, ...environment },
      stdio: 'ignore',
    });
    const exited = once(command, 'exit');
    await withStore((store) =>
      until(async () => {
        const canary = (await store.get('master-key-canary')) ?? '';
        const newKey = firstKey();
        return (
          !newKey.equals(oldKey) && createSealer(newKey).open(canary, 'master-key-canary') !== ''
        );
      }),
    );
    command.kill('SIGKILL');
    await exited;
  }

  test('a rotation that is killed and continued fails no request, and ends with one key', async () => {
    const { authorizationServerUrl, gatewayUrl } = balanced;
    const users = Array.from({ length: USERS }, (_value, i) =>
      createVirtualUser({ ...userClient(i), authorizationServerUrl, gatewayUrl }),
    );
    let working = true;
    const using = users.map(async (user) => {
      do {
        await user.round();
      } while (working);
    });
    const oldKey = firstKey();
    try {
      await followGuide('add-master-key');
      expect(firstKey()).toEqual(oldKey);
      await interruptRotation(oldKey);
      const interrupted = await gatehouse('master-key rotate --finish --yes');
      expect([interrupted.code, interrupted.errors]).toEqual([
        1,
        expect.stringMatching(/Records need the previous key \(.*client: \d+/),
      ]);
      await followGuide('rotate-master-key');
      const repeated = await gatehouse('master-key rotate --yes');
      expect([repeated.code, repeated.errors]).toEqual([
        1,
        expect.stringContaining('No new key: the last rotation is not finished.'),
      ]);
      expect((await gatehouse('master-key rotate --finish --yes')).errors).toMatch(
        /60 more minutes/,
      );
      await withStore((store) => store.set('master-key-switched-at', String(Date.now() - HOUR)));
      const keyId = masterKeyId(firstKey());
      for (const { app, operationsUrl } of balanced.system.members) {
        if (app !== 'device-service') {
          const metrics = await (await fetch(`${operationsUrl}/metrics`)).text();
          expect(metrics).toContain(`gatehouse_master_key_info{key_id="${keyId}"} 1`);
        }
      }
      await followGuide('finish-master-key');
      const rounds = users.map((user) => user.requests);
      await until(() => users.every((user, i) => user.requests > (rounds[i] ?? 0) + 20));
    } finally {
      working = false;
      await Promise.all(using);
    }
    const failed = users.flatMap((user) => user.disappointments);
    expect(failed).toEqual([]);

    writeFileSync(MASTER_KEY_FILE, oldKey.toString('hex'));
    const refused = await gatehouse('clients list');
    expect(refused.json.error.problems).toEqual([
      'MASTER_KEY_FILE: names a key that differs from the master key of this store',
    ]);
    await withStore(async (store) => {
      const { clients } = openIdentity({ store, masterKey: oldKey });
      const found = await clients.list();
      expect(found.length).toBeGreaterThanOrEqual(CLIENTS);
      expect(found.flatMap((client) => clients.secureKeys(client))).toEqual([]);
    });
  });
});
