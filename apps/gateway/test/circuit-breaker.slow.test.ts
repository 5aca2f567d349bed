import { createServer, type RequestListener, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen, until } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import { type BootedGateway, bootGateway } from './booted-gateway.ts';

const answerAtOnce: RequestListener = (_request, response) => response.end('{}');
const silence: RequestListener = () => {};

let service: Server;
let booted: BootedGateway;
let authorization: Record<string, string>;
/** The requests that reached the service, without health probes. */
let calls: number;
let probes: number;
let onCall: RequestListener;
let onProbe: RequestListener;

async function boot(options: { health?: string; timeoutMilliseconds?: number }): Promise<void> {
  calls = 0;
  probes = 0;
  onCall = answerAtOnce;
  onProbe = answerAtOnce;
  service = createServer((request, response) => {
    const isProbe = request.url === '/base/health';
    calls += isProbe ? 0 : 1;
    probes += isProbe ? 1 : 0;
    (isProbe ? onProbe : onCall)(request, response);
  });
  const port = await listen(service);
  const { timeoutMilliseconds = 15_000, ...more } = options;
  booted = await bootGateway({
    deviceServiceUrl: `http://127.0.0.1:${port}/base`,
    routes: deviceRoutes.map((route) => ({ ...route, timeoutMilliseconds })),
    ...more,
  });
  authorization = await booted.bearer();
}

afterEach(async () => {
  service.closeAllConnections();
  await booted.close();
  service.close();
});

const get = (query = '') => booted.send(`/api/device${query}`, { headers: authorization });
const post = () =>
  booted.send('/device-instance', { method: 'POST', headers: authorization, body: '{}' });

const isOpen = () =>
  booted.metrics().includes('gatehouse_upstream_circuit_open{upstream="device-service"} 1');

const changes = () =>
  [...booted.log().matchAll(/"msg":"upstream circuit (\w+)"/g)].map(([, to]) => to);

describe('the circuit of a service with a health path', () => {
  test('opens long before the deadline if the service stops, and ends the waiting requests', async () => {
    // Longer than a test may take.
    await boot({ health: '/health', timeoutMilliseconds: 600_000 });
    expect((await get()).status).toBe(200);
    onCall = silence;
    onProbe = silence;
    const waiting = await Promise.all([get(), post(), get()]);

    expect(waiting.map(({ status, json }) => [status, json.code])).toEqual(
      Array(3).fill([504, 'timeout']),
    );
    expect(isOpen()).toBe(true);

    const before = calls;
    const refused = await Promise.all(Array.from({ length: 20 }, () => get()));
    expect(new Set(refused.map(({ status, json }) => `${status} ${json.code}`))).toEqual(
      new Set(['503 service_unavailable']),
    );
    expect(refused.map(({ headers }) => headers['retry-after'])).toEqual(Array(20).fill('1'));
    expect(calls).toBe(before);
    const lines = booted.logLines().filter(({ code }) => code === 'service_unavailable');
    expect(lines.map(({ level, err }) => [level, err])).toEqual(
      Array(20).fill(['info', undefined]),
    );

    onCall = answerAtOnce;
    onProbe = answerAtOnce;
    await until(async () => (await get()).status === 200);
    expect(isOpen()).toBe(false);
    expect(changes()).toEqual(['open', 'closed']);
  });

  test('stays closed for a slow service that works', async () => {
    await boot({ health: '/health' });
    onCall = (_request, response) => setTimeout(() => response.end('{}'), 6000);
    const replies = await Promise.all([get(), post(), get()]);

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(probes).toBeGreaterThan(0);
    expect(changes()).toEqual([]);
  });

  test.each([
    [401, []],
    [404, []],
    [503, ['open']],
  ])('changes to %j if the health path answers %d', async (status, expected) => {
    await boot({ health: '/health', timeoutMilliseconds: 4000 });
    onCall = silence;
    onProbe = (_request, response) => response.writeHead(status).end();

    expect((await get()).status).toBe(504);
    expect(changes()).toEqual(expected);
  });

  test('stays closed if the service sends data during a health probe', async () => {
    await boot({ health: '/health', timeoutMilliseconds: 7000 });
    // One reply begins and continues only during a probe. The other request gets no reply.
    onCall = (request, response) => {
      if (request.url?.includes('slow')) {
        response.flushHeaders();
        onProbe = () => response.write('x');
      }
    };
    const slow = get('?slow').catch(() => undefined);
    expect((await get()).status).toBe(504);
    await slow;
    expect(probes).toBeGreaterThan(0);
    expect(changes()).toEqual([]);
  });

  test('sends no health probe while no request waits', async () => {
    await boot({ health: '/health' });
    expect((await get()).status).toBe(200);
    await sleep(2500);
    expect(probes).toBe(0);
  });
});

test('a service without a health path has no circuit: its requests reach their deadlines', async () => {
  await boot({ timeoutMilliseconds: 1000 });
  onCall = silence;
  const replies = await Promise.all(Array.from({ length: 10 }, () => get()));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([504]));
  onCall = answerAtOnce;
  expect((await get()).status).toBe(200);
  expect(changes()).toEqual([]);
});
