// requires: redis-server
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterEach, expect, test } from '@jest/globals';
import { createStore, type Store } from '../../src/index.ts';

const WINDOW_SECONDS = 600;

let redis: RedisServer | undefined;
let store: Store | undefined;

afterEach(async () => {
  await store?.close();
  await redis?.stop();
});

test('an operation whose reply is lost is not applied twice on one Redis', async () => {
  redis = await startRedisServer();
  store = createStore(redis.url);
  await expectNothingTwice(redis, store);
});

test('an operation whose reply is lost is not applied twice on a cluster', async () => {
  redis = await startRedisServer({
    arguments: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
  });
  await redis.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  while (!(await redis.command('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
    await sleep(20);
  }
  store = createStore(`redis+cluster://127.0.0.1:${redis.port}`);
  await expectNothingTwice(redis, store);
});

/** Repeatedly closes the connection while counters are incremented, each of them once. */
async function expectNothingTwice(server: RedisServer, subject: Store): Promise<void> {
  const acknowledged: number[] = [];
  let sent = 0;
  const increment = async () => {
    sent += 1;
    const number = sent;
    await subject.increment(`once:${number}`, WINDOW_SECONDS);
    acknowledged.push(number);
  };
  for (let round = 0; round < 15; round += 1) {
    await until(() => subject.ping());
    const attempts: Promise<unknown>[] = [];
    let isCut = false;
    const cut = server.command('CLIENT', 'KILL', 'TYPE', 'normal').then(() => {
      isCut = true;
    });
    while (!isCut) {
      attempts.push(...Array.from({ length: 100 }, increment));
      await sleep(1);
    }
    await Promise.allSettled([cut, ...attempts]);
  }
  await until(() => subject.ping());
  const counts: number[] = [];
  while (counts.length <= sent) {
    const numbers = Array.from({ length: 500 }, (_, index) => counts.length + index);
    const read = numbers.map((number) => subject.increment(`once:${number}`, 60, 0));
    counts.push(...(await Promise.all(read)).map(({ count }) => count));
  }
  expect(acknowledged.length).toBeLessThan(sent);
  expect(counts.filter((count) => count > 1)).toEqual([]);
  expect(acknowledged.filter((number) => counts[number] !== 1)).toEqual([]);
}
