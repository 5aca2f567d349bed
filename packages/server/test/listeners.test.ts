import type { RequestListener } from 'node:http';
import { until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import pino from 'pino';
import {
  createMetricsRegistry,
  deferListener,
  observeRequests,
  type RunningServer,
  serve,
} from '../src/index.ts';
import {
  createOperations,
  type OperationsOptions,
  serveOperations,
} from '../src/server/operations.ts';

const servers: RunningServer[] = [];
const at = { host: '127.0.0.1', port: 0 };

afterAll(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(listener: RequestListener): Promise<string> {
  const server = await serve(listener, at);
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
}

async function startOperations(options: Omit<OperationsOptions, 'metrics'>): Promise<string> {
  const operations = createOperations({ metrics: createMetricsRegistry(), ...options });
  const server = await serveOperations(operations, at);
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
}

/** Sends a request and closes the connection, so that it does not delay the end of the server. */
const ask = (url: string, init: RequestInit = {}) =>
  fetch(url, { ...init, headers: { Connection: 'close', ...init.headers } });

describe('the operations port', () => {
  const up = async () => undefined;
  const down = async () => {
    throw new Error('redis://:marker@host');
  };

  test.concurrent('/live is 200 while dependencies are unavailable', async () => {
    const url = await startOperations({ checks: { store: down } });
    const reply = await ask(`${url}/live`);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual({ status: 'live' });
    expect(reply.headers.get('cache-control')).toBe('no-store');
  });

  test.concurrent('/ready is 503 and names the unavailable dependency without the reason', async () => {
    const thrower = () => {
      throw new Error('at once');
    };
    const url = await startOperations({ checks: { store: down, database: up, thrower } });
    const reply = await ask(`${url}/ready`);
    expect(reply.status).toBe(503);
    expect(await reply.json()).toEqual({
      status: 'unavailable',
      checks: { store: 'unavailable', database: 'ok', thrower: 'unavailable' },
    });
  });

  test.concurrent('/ready names a dependency that does not answer, without waiting for it', async () => {
    const silent = () => new Promise(() => undefined);
    const url = await startOperations({ checks: { database: silent, store: up } });
    const reply = await ask(`${url}/ready`);
    expect(await reply.json()).toMatchObject({ checks: { database: 'unavailable', store: 'ok' } });
  });

  test.concurrent('/ready is 200 and shows an unavailable peer', async () => {
    const url = await startOperations({ checks: { database: up }, peers: { gateway: down } });
    const reply = await ask(`${url}/ready`);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual({
      status: 'ready',
      checks: { database: 'ok', gateway: 'unavailable' },
    });
  });

  test.concurrent('/ready fails as soon as a shutdown begins, and /live does not', async () => {
    const metrics = createMetricsRegistry();
    const server = await serveOperations(createOperations({ metrics, checks: { store: up } }), at);
    servers.push(server);
    server.startDraining();
    const reply = await ask(`http://127.0.0.1:${server.port}/ready`);
    expect(reply.status).toBe(503);
    expect(await reply.json()).toEqual({ status: 'draining' });
    expect((await ask(`http://127.0.0.1:${server.port}/live`)).status).toBe(200);
  });

  test.concurrent('documents are served, or 503 if they cannot be created', async () => {
    const url = await startOperations({
      checks: {},
      documents: { '/.well-known/jwks.json': async () => ({ keys: [] }), '/broken': down },
    });
    expect(await (await ask(`${url}/.well-known/jwks.json`)).json()).toEqual({ keys: [] });
    const broken = await ask(`${url}/broken`);
    expect(broken.status).toBe(503);
    expect(await broken.text()).not.toContain('marker');
  });

  test.concurrent.each(['/', '/Live', '/live/', '/metrics/', '/__proto__', '/constructor'])(
    '%s is not found',
    async (path) => {
      const url = await startOperations({ checks: {}, documents: {} });
      expect((await ask(url + path)).status).toBe(404);
    },
  );
});

describe('a deferred listener', () => {
  const isAway = (error: unknown) => error instanceof Error && error.message === 'away';
  const application: RequestListener = (_request, response) => response.end('built');

  test.concurrent('replies with 503 until the application can be built', async () => {
    let away = true;
    let attempts = 0;
    const deferred = await deferListener(async () => {
      attempts += 1;
      if (away) {
        throw new Error('away');
      }
      return application;
    }, isAway);
    const written: string[] = [];
    const logger = pino({}, { write: (line: string) => written.push(line) });
    const url = await start(observeRequests(deferred.listener, logger));
    const early = await ask(`${url}/token`, { method: 'POST', body: 'a=b' });
    expect(early.status).toBe(503);
    expect(early.headers.get('retry-after')).toBe('1');
    expect(early.headers.get('cache-control')).toBe('no-store');
    expect(await early.json()).toMatchObject({ error: 'temporarily_unavailable' });
    await expect(deferred.ready()).rejects.toThrow('not complete yet');
    const [line] = written.map((text) => JSON.parse(text));
    expect(line).toMatchObject({ level: 'info', operation: 'unmatched', status: 503 });
    expect(line.code).toBe('temporarily_unavailable');
    expect(line).not.toHaveProperty('err');

    away = false;
    await until(async () => (await ask(url)).status === 200);
    await deferred.ready();
    expect(await (await ask(url)).text()).toBe('built');
    expect(attempts).toBeGreaterThan(1);
  });
});
