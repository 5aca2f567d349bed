/** ROUTES_FILE is read again on SIGHUP, in one process and in several workers. */

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createLogger, createReload } from '@gatehouse/server';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { createStore } from '@gatehouse/store';
import { oneClient, until } from '@gatehouse/testing';
import { listenForTests, startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';

const secureKey = 'reloadKey0123456789abcd';
const CALLERS = 2;

/** A service that replies with its name. */
async function startService(name: string) {
  const service = createServer((_request, response) => response.end(name));
  return { url: `http://127.0.0.1:${await listenForTests(service)}` };
}

const services = { one: await startService('one'), two: await startService('two') };

const folder = temporaryFolder();

function write(file: string, content: unknown): void {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

const routesTo = (upstream: string, paths: readonly string[]) => ({
  upstreams: services,
  routes: paths.map((path) => ({
    ...{ operation: path.slice(1), method: 'GET', path, scope: 'device:read', upstream },
  })),
});

const systems = await Promise.all(
  ['1', '2'].map(async (workers) => {
    const file = join(folder, `${workers}.json`);
    write(file, routesTo('one', ['/a']));
    const limits = { CLIENT_RATE_LIMIT: '1000000/60' };
    const system = await startSystem({
      engine: 'sqlite',
      apps: ['gateway'],
      bootstrap: oneClient(secureKey),
      environment: { ROUTES_FILE: file, WORKERS: workers, ...limits },
    });
    const store = createStore(system.storeUrl);
    const { xAccessTokens } = openIdentity({ store, masterKey: system.masterKey });
    const token = await xAccessTokens.issue({ clientId: 'one' }, 600);
    await store.close();
    return { workers, file, token, gateway: system.member('gateway') };
  }),
);

describe.each(systems)('a gateway with $workers process(es)', ({ file, token, gateway }) => {
  const headers = { 'X-Access-Token': token };

  test('serves the routes of a valid file, and loses no request', async () => {
    const call = async (path: string) => {
      const reply = await fetch(gateway.url + path, { headers });
      return `${reply.status} ${await reply.text()}`;
    };
    expect(await call('/a')).toBe('200 one');
    expect(await call('/b')).toMatch(/^404 /);

    let isEnding = false;
    const answers = new Map<string, number>();
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!isEnding) {
        const answer = await call('/a');
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
      }
    });
    const everywhere = async (path: string, expected: string) =>
      until(async () => {
        const seen = await Promise.all(Array.from({ length: 8 }, () => call(path)));
        return seen.every((each) => each === expected);
      });
    try {
      for (const upstream of ['two', 'one', 'two']) {
        write(file, routesTo(upstream, ['/a', '/b']));
        process.kill(gateway.process.pid, 'SIGHUP');
        await everywhere('/b', `200 ${upstream}`);
      }
    } finally {
      isEnding = true;
      await Promise.all(callers);
    }
    expect([...answers.keys()].sort()).toEqual(['200 one', '200 two']);
    const metrics = await (await fetch(`${gateway.operationsUrl}/metrics`)).text();
    expect(metrics).toMatch(/gatehouse_requests_total\{operation="b"/);
  });

  test('keeps its routes if the file is invalid, and reports why', async () => {
    const status = async () => (await fetch(`${gateway.url}/a`, { headers })).status;
    const [route] = routesTo('one', ['/c']).routes;
    for (const [content, reason] of [
      ['{', 'cannot be read as JSON'],
      [{ ...routesTo('nowhere', ['/c']) }, 'names an undefined upstream'],
      [{ upstreams: services, routes: [{ ...route, scope: 'no:scope' }] }, 'no:scope'],
    ] as const) {
      write(file, content);
      process.kill(gateway.process.pid, 'SIGHUP');
      await until(() => {
        const lines = gateway.process.output().split('\n');
        return lines.some((line) => line.includes('not reloaded') && line.includes(reason));
      });
      expect(await status()).toBe(200);
    }
  });
});

test('operators see why the last reload changed nothing, in bounded texts', async () => {
  const found = Array.from({ length: 9 }, () => ({ name: 'routes', message: 'x'.repeat(500) }));
  const failures = [new ConfigurationError(found), new Error('marker'), undefined];
  const { reload, configuration } = createReload(
    async () => {
      const failure = failures.shift();
      if (failure !== undefined) {
        throw failure;
      }
    },
    createLogger({ app: 'gateway', level: 'silent' }),
  );
  const { loadedAt } = configuration();
  await reload();
  expect(configuration().problems.map(({ length }) => length)).toEqual([300, 300, 300, 300, 300]);
  await Promise.all([reload(), reload()]);
  expect(configuration().problems).toEqual([]);
  expect(configuration().loadedAt).toBeGreaterThanOrEqual(loadedAt);
});
