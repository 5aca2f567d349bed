// requires: redis-server

import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { type Store, StoreUnavailableError } from '../../src/index.ts';
import { endAfterTests, openStore } from './open-redis.ts';

/** Long enough for several attempts to connect, which are 50 to 250 ms apart. */
const SEVERAL_ATTEMPTS_MILLISECONDS = 1200;

const secret = 'right-marker';
const wrong = 'wrong-marker';

async function start(...options: readonly string[]): Promise<RedisServer> {
  const redis = await startRedisServer({ password: secret, arguments: options });
  endAfterTests(() => redis.stop());
  return redis;
}

const failureOf = (store: Store) => store.get('key').catch((error) => error);

// Concurrent, because each test mostly waits for further attempts to connect.
describe('the reason why a Redis is unavailable', () => {
  test.concurrent.each([
    ['with a wrong password', (port: number) => `redis://:${wrong}@127.0.0.1:${port}`, 'WRONGPASS'],
    ['without a password', (port: number) => `redis://127.0.0.1:${port}`, 'NOAUTH'],
  ])(
    '%s is the first word of its reply, reported once, without the password',
    async (_how, url, word) => {
      const { port } = await start();
      const { store, changes } = openStore(url(port));
      const failure = await failureOf(store);
      await sleep(SEVERAL_ATTEMPTS_MILLISECONDS);
      expect(failure).toBeInstanceOf(StoreUnavailableError);
      expect(failure.reason).toBe(`Redis replies ${word}.`);
      expect(changes).toEqual([['unavailable', `Redis replies ${word}.`]]);
      expect(String(failure.reason) + String(failure.cause)).not.toContain('marker');
    },
  );

  test.concurrent('is NOPERM if its user lacks the permission', async () => {
    const { port } = await start('--user', 'reader', 'on', `>${wrong}`, '~*', '+info', '+ping');
    const { store, changes } = openStore(`redis://reader:${wrong}@127.0.0.1:${port}`);
    expect((await failureOf(store)).reason).toBe('Redis replies NOPERM.');
    await until(() => changes.length > 0);
    expect(changes).toEqual([['unavailable', 'Redis replies NOPERM.']]);
  });

  test.concurrent.each([
    ['a closed port', async () => `127.0.0.1:${await freePort()}`, 'ECONNREFUSED'],
  ])('is the code of the system error for %s, reported once', async (_where, address, code) => {
    const { store, changes } = openStore(`redis://:${wrong}@${await address()}`);
    const { reason } = await failureOf(store);
    await sleep(SEVERAL_ATTEMPTS_MILLISECONDS);
    expect(reason).toMatch(/^The connection fails with [A-Z_]+\.$/);
    expect(reason).toMatch(code);
    expect(changes).toEqual([['unavailable', reason]]);
  });

  test.concurrent('is reported once for each of two reasons that alternate', async () => {
    const replies = ['-LOADING now\r\n', `-ERR ${wrong}\r\n`];
    let connections = 0;
    const port = await freePort();
    const server = createServer((socket) => {
      const reply = replies[connections++ % replies.length] ?? '';
      socket.on('error', () => undefined);
      socket.on('data', () => socket.write(reply));
    }).listen(port, '127.0.0.1');
    endAfterTests(async () => server.close());
    const { changes } = openStore(`redis://127.0.0.1:${port}`);
    while (connections < 6) {
      await sleep(20);
    }
    expect(changes).toEqual([
      ['unavailable', 'Redis replies LOADING.'],
      ['unavailable', 'Redis replies ERR.'],
    ]);
  });
});
