// requires: redis-server
/** The figures for operators, of an installation whose servers have two workers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openIdentity, type ProcessEntry } from '@gatehouse/identity';
import { openOperators } from '@gatehouse/operators';
import { createStore } from '@gatehouse/store';
import { machineToken, oneClient, parseMetrics, storeEngines, until } from '@gatehouse/testing';
import { startOnEachEngine, temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';

const secureKey = 'figuresKey0123456789abcdef';
const CALLS = 60;
const DAY = 24 * 60 * 60 * 1000;

const routesFile = join(temporaryFolder(), 'routes.json');
writeFileSync(routesFile, '{ "routes": [] }');
const route = { operation: 'added', method: 'GET', path: '/added', scope: 'device:read' };

const systems = await startOnEachEngine(
  {
    bootstrap: oneClient(secureKey),
    environment: { WORKERS: '2', ADDRESS_RATE_LIMIT: '1000000/60', ROUTES_FILE: routesFile },
  },
  storeEngines,
);

describe.each(systems)('the figures of operators over $engine', ({ system }) => {
  const store = createStore(system.storeUrl);
  const identity = openIdentity({ store, masterKey: system.masterKey });
  afterAll(() => store.close());

  const totalOf = async (app: string) => {
    const range = { app, from: Date.now() - DAY, to: Date.now() + 1, stepSeconds: 3600 };
    return (await identity.timeSeries.read(range)).total;
  };

  test('every process is listed with its readiness, its worker and its settings', async () => {
    await until(async () => (await identity.processes.read()).length === 4);
    const listed = await identity.processes.read();
    const workers = listed.map(({ app, worker, ready }) => [app, worker, ready]);
    expect(workers.sort()).toEqual([
      ['authorization-server', 1, true],
      ['authorization-server', 2, true],
      ['gateway', 1, true],
      ['gateway', 2, true],
    ]);
    const [gateway] = listed.filter(({ app }) => app === 'gateway');
    expect(gateway).toMatchObject({
      checks: { store: 'ok', 'signing-key': 'ok' },
      circuits: { 'device-service': 'closed' },
    });
    const settings = new Map(gateway?.settings.map(({ name, ...setting }) => [name, setting]));
    expect(settings.get('WORKERS')).toEqual({ value: '2', origin: 'variable' });
    expect(settings.get('CLIENT_RATE_LIMIT')).toEqual({ value: '1200000/60', origin: 'default' });
    expect(settings.get('STORE_URL')).toEqual({ origin: 'variable' });
    expect(gateway?.routes?.first).toContainEqual({
      ...{ route: 'GET /api/device', upstream: 'device-service', origin: 'default' },
      requires: 'scope: device:read',
    });
  });

  test('every worker of the gateway reloads its routes when an operator asks for it', async () => {
    const { installation } = openOperators(identity);
    const reload = async (content: string) => {
      writeFileSync(routesFile, content);
      await installation.reload({ actor: 'console', operator: 'olga' });
    };
    const everywhere = (expected: (entry: ProcessEntry) => boolean) =>
      until(async () => {
        const gateways = (await installation.processes()).filter(({ app }) => app === 'gateway');
        return gateways.length === 2 && gateways.every(expected);
      }, 30);
    await reload(JSON.stringify({ routes: [route] }));
    await everywhere(({ routes, configuration, startedAt }) => {
      const [first] = routes?.first ?? [];
      return first?.route === 'GET /added' && (configuration?.loadedAt ?? 0) > startedAt;
    });
    await reload('{');
    await everywhere(
      ({ configuration, routes }) =>
        configuration?.problems[0]?.includes('cannot be read as JSON') === true &&
        routes?.first[0]?.route === 'GET /added',
    );
  });

  test('after a shutdown, the series has every request of all workers, and no process is listed', async () => {
    const { gatewayUrl } = system;
    const token = await machineToken(system, secureKey);
    const headers = { authorization: `Bearer ${token}`, connection: 'close' };
    const statuses = await Promise.all(
      Array.from({ length: CALLS }, async () => {
        const reply = await fetch(`${gatewayUrl}/api/device`, { headers });
        await reply.text();
        return reply.status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    const scraped = await fetch(`${system.member('gateway').operationsUrl}/metrics`);
    expect(parseMetrics(await scraped.text()).has('gatehouse_time_series_writes_total')).toBe(true);
    const ends = await Promise.all(system.processes.map((each) => each.stop()));
    expect(ends).toEqual([0, 0, 0]);
    const gateway = await totalOf('gateway');
    expect(gateway.outcomes).toEqual(new Map([['success', CALLS]]));
    expect(gateway.clients).toEqual(new Map([['one', CALLS]]));
    expect(gateway.verifications).toEqual(new Map([['bearer accepted', CALLS]]));
    const server = await totalOf('authorization-server');
    expect(server.tokens).toEqual(new Map([['client_credentials', 1]]));
    expect(server.verifications).toEqual(new Map([['basic success', 1]]));
    expect(await identity.processes.read()).toEqual([]);
  });
});
