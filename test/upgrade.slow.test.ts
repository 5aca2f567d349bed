// requires: redis-server postgresql
// runs alone: it has deadlines of seconds under load
/**
 * Starts the previous release, fills its store and database, and replaces one process after the
 * other with this release, while users continue.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AppName,
  type AppProcess,
  basic,
  createVirtualUser,
  freePort,
  type LoadBalancer,
  manyUsers,
  type PostgresServer,
  type StoreEngine,
  startApp,
  startLoadBalancer,
  startPostgresServer,
  startStoreEngine,
  until,
  userClient,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from '../apps/cli/test/run-gatehouse.ts';
import { extractPreviousRelease } from './previous-release.ts';

const USERS = 2;
const unlimited = '10000000/60';

interface Place {
  readonly app: AppName;
  readonly url: string;
  readonly operationsUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  process?: AppProcess;
}

const portVariables = {
  'authorization-server': 'AUTHORIZATION_SERVER_PORT',
  gateway: 'GATEWAY_PORT',
  'device-service': 'DEVICE_SERVICE_PORT',
} as const;

describe.each([
  ['sqlite', 'SQLite'],
  ['redis', 'PostgreSQL'],
] as const)('the data of the previous release in %s and %s', (engineName, database) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-upgrade-'));
  let previous: string;
  let store: StoreEngine;
  let postgres: PostgresServer | undefined;
  let places: readonly Place[] = [];
  let balancers: readonly LoadBalancer[] = [];
  let environment: Record<string, string>;

  beforeAll(async () => {
    previous = extractPreviousRelease();
    store = await startStoreEngine(engineName);
    postgres = database === 'PostgreSQL' ? await startPostgresServer() : undefined;
    mkdirSync(join(directory, 'data'), { mode: 0o700 });
    const file = (name: string, content: string) => {
      writeFileSync(join(directory, name), content, { mode: 0o600 });
      return join(directory, name);
    };
    const [issuerPort, gatewayPort] = [await freePort(), await freePort()];
    const apps = [
      ...(['device-service', 'authorization-server', 'authorization-server'] as const),
      ...(['gateway', 'gateway'] as const),
    ];
    const ports = await Promise.all(
      apps.map(async (app) => ({ app, port: await freePort(), operations: await freePort() })),
    );
    const portOf = (app: AppName) => ports.find((each) => each.app === app);
    environment = {
      DATA_DIR: join(directory, 'data'),
      STORE_URL: store.storeUrl,
      MASTER_KEY_FILE: file('master.key', randomBytes(32).toString('hex')),
      COOKIE_KEYS_FILE: file('cookie.keys', randomBytes(32).toString('hex')),
      BOOTSTRAP_FILE: file('bootstrap.json', JSON.stringify(manyUsers(USERS))),
      ...(postgres === undefined ? {} : { DATABASE_URL: postgres.url }),
      AUTHORIZATION_SERVER_URL: `http://localhost:${issuerPort}`,
      GATEWAY_URL: `http://localhost:${gatewayPort}`,
      DEVICE_SERVICE_URL: `http://127.0.0.1:${portOf('device-service')?.port}`,
      GATEWAY_JWKS_URL: `http://127.0.0.1:${portOf('gateway')?.operations}/.well-known/jwks.json`,
      SHUTDOWN_DELAY_SECONDS: '1',
      TRUSTED_PROXIES: '127.0.0.1,::1',
      LOG_LEVEL: 'warn',
      CLIENT_RATE_LIMIT: unlimited,
      ADDRESS_RATE_LIMIT: unlimited,
      CLIENT_REQUESTS_PER_MINUTE: '100000',
      PAGE_REQUESTS_PER_MINUTE: '100000',
    };
    places = ports.map(({ app, port, operations }) => ({
      app,
      url: `http://localhost:${port}`,
      operationsUrl: `http://127.0.0.1:${operations}`,
      environment: {
        ...environment,
        [portVariables[app]]: String(port),
        OPERATIONS_PORT: String(operations),
      },
    }));
    await Promise.all(
      places.map(async (place) => {
        place.process = await startApp(place.app, place.environment, previous);
      }),
    );
    const balance = (app: AppName, port: number) =>
      startLoadBalancer({ port, backends: places.filter((place) => place.app === app) });
    balancers = [
      await balance('authorization-server', issuerPort),
      await balance('gateway', gatewayPort),
    ];
  });
  afterAll(async () => {
    await Promise.all(balancers.map((balancer) => balancer.close()));
    await Promise.all(places.map((place) => place.process?.stopWithoutDraining()));
    await Promise.all([store.stop(), postgres?.stop()]);
    rmSync(directory, { recursive: true });
    rmSync(previous, { recursive: true });
  });

  async function replace(place: Place): Promise<void> {
    expect(await place.process?.stop()).toBe(0);
    place.process = await startApp(place.app, place.environment);
  }

  async function call(token: string, path: string, init: RequestInit = {}) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const reply = await fetch(`${environment.GATEWAY_URL}${path}`, { ...init, headers });
    return { status: reply.status, body: await reply.json() };
  }

  test('continues to work while both releases run, and afterwards', async () => {
    const { client } = userClient(0);
    const reply = await fetch(`${environment.AUTHORIZATION_SERVER_URL}/token`, {
      method: 'POST',
      headers: { authorization: basic(client.clientId, client.secureKey) },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: token } = (await reply.json()) as { access_token: string };
    const body = '{"id":"pump-1","name":"Pump 1","productId":"pump","productName":"Pump"}';
    expect((await call(token, '/device-instance', { method: 'POST', body })).status).toBe(200);

    const users = Array.from({ length: USERS }, (_value, i) =>
      createVirtualUser({
        ...userClient(i),
        authorizationServerUrl: environment.AUTHORIZATION_SERVER_URL ?? '',
        gatewayUrl: environment.GATEWAY_URL ?? '',
      }),
    );
    await Promise.all(users.map((user) => user.round()));
    const [deviceService, ...others] = places;
    // There is only one device service, so its calls pause.
    await Promise.all([deviceService].map((place) => place && replace(place)));

    let working = true;
    const using = users.map(async (user) => {
      do {
        await user.round();
      } while (working);
    });
    try {
      for (const place of others) {
        const requests = users.map((user) => user.requests);
        await until(() => users.every((user, i) => user.requests > (requests[i] ?? 0) + 1));
        await replace(place);
      }
    } finally {
      working = false;
      await Promise.all(using);
    }
    expect(users.flatMap((user) => user.disappointments)).toEqual([]);
    expect(balancers.flatMap(({ failures }) => failures)).toEqual([]);

    await Promise.all(users.map((user) => user.round()));
    expect(users.flatMap((user) => user.disappointments)).toEqual([]);
    expect(await call(token, '/api/device')).toMatchObject({
      status: 200,
      body: { result: [expect.objectContaining({ id: 'pump-1' })] },
    });
    const { json } = await runGatehouse(environment, ['audit', 'list', '--json']);
    expect(json.entries.length).toBeGreaterThan(0);
  });
});
