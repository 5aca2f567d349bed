// requires: redis-server

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createStore, type Store, StoreUnavailableError } from '../../src/index.ts';

let redis: RedisServer;
let proxy: Server;
let store: Store;
const sockets = new Set<Socket>();
/** What clients send over the current connections gets lost. New connections work. */
const silenced = new Set<Socket>();
let isNextSilent = false;

beforeEach(async () => {
  redis = await startRedisServer();
  const port = Number(new URL(redis.url).port);
  proxy = createServer((incoming) => {
    const outgoing = connect(port, '127.0.0.1');
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    if (isNextSilent) {
      silenced.add(incoming);
    }
    incoming.on('data', (data) => silenced.has(incoming) || outgoing.write(data));
    outgoing.on('data', (data) => incoming.write(data));
    incoming.on('close', () => outgoing.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
});

afterEach(async () => {
  await store.close();
  for (const socket of sockets) {
    socket.destroy();
  }
  sockets.clear();
  proxy.close();
  await redis.stop();
});

const open = () => {
  store = createStore(`redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
};
const works = () =>
  store.get('key').then(
    () => true,
    () => false,
  );

test('the store replaces a connection that is silent from its start', async () => {
  isNextSilent = true;
  open();
  await expect(store.get('key')).rejects.toThrow(StoreUnavailableError);
  isNextSilent = false;
  await until(works);
});

test('the store replaces a connection that becomes silent', async () => {
  isNextSilent = false;
  open();
  await store.set('key', 'value');
  for (const socket of sockets) {
    silenced.add(socket);
  }
  await expect(store.get('key')).rejects.toThrow(StoreUnavailableError);
  await until(works);
  expect(await store.get('key')).toBe('value');
});
