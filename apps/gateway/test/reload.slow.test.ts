/** Reloads of ROUTES_FILE under load: 500 requests a second, each on the beat, for six seconds. */

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { oneClient } from '@gatehouse/testing';
import { listenForTests, startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';

const REQUESTS = 3000;
const PERIOD_MILLISECONDS = 2;

const serve = async (name: string) => {
  const service = createServer((_request, response) => response.end(name));
  return { url: `http://127.0.0.1:${await listenForTests(service)}` };
};
const services = { one: await serve('one'), two: await serve('two') };
const file = join(temporaryFolder(), 'routes.json');
const write = (upstream: string) => {
  const route = { operation: 'a', method: 'GET', path: '/a', scope: 'device:read', upstream };
  writeFileSync(file, JSON.stringify({ upstreams: services, routes: [route] }));
};
write('one');

const systems = await Promise.all(
  ['1', '2'].map(async (workers) => ({
    workers,
    system: await startSystem({
      engine: 'sqlite',
      apps: ['gateway'],
      bootstrap: oneClient('reloadKey0123456789abcd'),
      environment: { ROUTES_FILE: file, WORKERS: workers, CLIENT_RATE_LIMIT: '1000000/60' },
    }),
  })),
);

test.each(systems)('with $workers process(es), 20 reloads lose no request', async ({ system }) => {
  const store = createStore(system.storeUrl);
  const { xAccessTokens } = openIdentity({ store, masterKey: system.masterKey });
  const token = await xAccessTokens.issue({ clientId: 'one' }, 600);
  await store.close();
  const gateway = system.member('gateway');
  const call = async () => {
    const reply = await fetch(`${gateway.url}/a`, { headers: { 'X-Access-Token': token } });
    return `${reply.status} ${await reply.text()}`;
  };
  const started = performance.now();
  const calls: Promise<string>[] = [];
  while (calls.length < REQUESTS) {
    // A late beat sends the requests of all beats that are due.
    const due = Math.min(REQUESTS, (performance.now() - started) / PERIOD_MILLISECONDS);
    while (calls.length < due) {
      if (calls.length % 150 === 75) {
        write(calls.length % 300 === 75 ? 'two' : 'one');
        process.kill(gateway.process.pid, 'SIGHUP');
      }
      calls.push(call());
    }
    await sleep(1);
  }
  const answers = await Promise.all(calls);
  const rate = REQUESTS / ((performance.now() - started) / 1000);
  process.stdout.write(`${Math.round(rate)} requests a second\n`);
  expect([...new Set(answers)].sort()).toEqual(['200 one', '200 two']);
});
