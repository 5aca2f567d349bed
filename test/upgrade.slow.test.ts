// requires: redis-server postgresql
// runs alone: it has deadlines of seconds under load
/**
 * Starts the previous release, fills its store and database, and replaces one process after the
 * other with this release, while users continue.
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AppName,
  type AppProcess,
  authorizeAsUser,
  basic,
  createPageVisitor,
  createVirtualUser,
  freePort,
  type LoadBalancer,
  manyUsers,
  type PostgresServer,
  processEnvironment,
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
const CLIENT = 'client-of-previous-release';
/** The steps of a virtual user that show pages, and those that need their result. */
const ofPages = /^(code|token|device|implicit|authorization_code|connectDevice|device_code)\b/;
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

  async function post(path: '/token' | '/revoke', secureKey: string, form: object) {
    const reply = await fetch(`${environment.AUTHORIZATION_SERVER_URL}${path}`, {
      method: 'POST',
      headers: { authorization: basic(CLIENT, secureKey) },
      body: new URLSearchParams({ ...form }),
    });
    // The previous release confirms a revocation without a body.
    const { access_token: token = '' } = JSON.parse((await reply.text()) || '{}');
    return { status: reply.status, token: String(token) };
  }
  const getToken = (secureKey: string) =>
    post('/token', secureKey, { grant_type: 'client_credentials' });

  async function callSigned(secureKey: string): Promise<number> {
    const [query, timestamp] = ['pageSize=5', String(Date.now())];
    const text = query + timestamp + secureKey;
    const reply = await fetch(`${environment.GATEWAY_URL}/api/device?${query}`, {
      headers: {
        'X-Client-Id': CLIENT,
        'X-Timestamp': timestamp,
        'X-Sign': createHash('sha256').update(text).digest('hex'),
      },
    });
    return reply.status;
  }

  /** Runs a command of the previous release. */
  function previousCommand(...args: readonly string[]): { readonly secureKey: string } {
    const program = join(previous, 'apps', 'cli', 'src', 'main.ts');
    const output = execFileSync(process.execPath, [program, ...args, '--json'], {
      env: { ...processEnvironment, ...environment },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return JSON.parse(output);
  }

  /** A client with two keys and a removed one, whose tokens stay valid, a device and a session. */
  async function fill() {
    const settings = ['--org', 'org-1', '--name', 'Kept', '--grant-type', 'client_credentials'];
    const scopes = ['--scope', 'device:read', '--scope', 'device:write'];
    const { secureKey: removed } = previousCommand(
      'clients',
      'add',
      CLIENT,
      ...settings,
      ...scopes,
    );
    const [kept, revoked] = [await getToken(removed), await getToken(removed)];
    const { secureKey: second } = previousCommand('clients', 'rotate-key', CLIENT);
    const replace = ['--replace-oldest', '--keep-tokens'];
    const { secureKey: third } = previousCommand('clients', 'rotate-key', CLIENT, ...replace);
    expect((await post('/revoke', second, { token: revoked.token })).status).toBe(200);
    const body = '{"id":"pump-1","name":"Pump 1","productId":"pump","productName":"Pump"}';
    expect((await call(kept.token, '/device-instance', { method: 'POST', body })).status).toBe(200);
    const visitor = createPageVisitor();
    const user = userClient(0);
    await authorizeAsUser(authorizationUrl(user), user.user, visitor);
    return { removed, keys: [second, third], kept: kept.token, revoked: revoked.token, visitor };
  }

  function authorizationUrl({ client, redirectUri }: ReturnType<typeof userClient>): string {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: redirectUri,
      scope: 'device:read',
    });
    return `${environment.AUTHORIZATION_SERVER_URL}/authorize?${query}`;
  }

  test('continues to work while both releases run, and afterwards', async () => {
    const data = await fill();
    const users = Array.from({ length: USERS }, (_value, i) =>
      createVirtualUser({
        ...userClient(i),
        authorizationServerUrl: environment.AUTHORIZATION_SERVER_URL ?? '',
        gatewayUrl: environment.GATEWAY_URL ?? '',
      }),
    );
    const takeDisappointments = () => users.flatMap((user) => user.disappointments.splice(0));
    await Promise.all(users.map((user) => user.round()));
    expect(takeDisappointments()).toEqual([]);

    let working = true;
    async function replaceInUse(app: AppName): Promise<void> {
      working = true;
      const using = users.map(async (user) => {
        do {
          await user.round();
        } while (working);
      });
      try {
        for (const place of places.filter((each) => each.app === app)) {
          const requests = users.map((user) => user.requests);
          await until(() => users.every((user, i) => user.requests > (requests[i] ?? 0) + 1));
          await replace(place);
        }
      } finally {
        working = false;
        await Promise.all(using);
      }
    }
    // There is only one device service, so its calls pause.
    await Promise.all(places.filter(({ app }) => app === 'device-service').map(replace));
    await replaceInUse('authorization-server');
    // A sign-in whose pages come from both releases can fail, because they sign cookies differently.
    const steps = takeDisappointments().map(({ step }) => step);
    expect(steps.filter((step) => !ofPages.test(step))).toEqual([]);
    await replaceInUse('gateway');
    expect(takeDisappointments()).toEqual([]);
    expect(balancers.flatMap(({ failures }) => failures)).toEqual([]);

    expect(await call(data.kept, '/api/v1/device/pump-1')).toMatchObject({ status: 200 });
    expect((await call(data.revoked, '/api/v1/device/pump-1')).status).toBe(401);
    for (const secureKey of data.keys) {
      const { token } = await getToken(secureKey);
      expect((await call(token, '/api/v1/device/pump-1')).status).toBe(200);
      expect(await callSigned(secureKey)).toBe(200);
    }
    expect((await getToken(data.removed)).status).toBe(401);
    expect(await callSigned(data.removed)).toBe(401);
    const signedIn = await data.visitor.get(`${authorizationUrl(userClient(0))}&prompt=none`);
    expect(signedIn.location).toContain('code=');
    const { json } = await runGatehouse(environment, ['audit', 'list', '--json']);
    expect(json.entries.length).toBeGreaterThan(0);
  });
});
