import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialKey, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { freePort, startPostgresServer } from '@gatehouse/testing';
import { start, startNode, stop } from '../machinery/processes.ts';
import {
  type Case,
  cases,
  createRequest,
  LISTED_DEVICES,
  LOG_RECORDS,
  type Organization,
  secureKeys,
} from './cases.ts';

export type Engines = 'embedded' | 'servers';

/** Gateway, device service, store and database. */
export interface System {
  readonly url: string;
  readonly tokens: Readonly<Record<Organization, string>>;
  /** By the name of the process. */
  readonly pids: () => Readonly<Record<string, readonly number[]>>;
  /** Starts the apps again, so that nothing is connected. */
  restart(): Promise<void>;
  /** A gateway of the same system in front of another service. */
  startGatewayFor(serviceUrl: string): Promise<{ readonly url: string; readonly pid: number }>;
  /** The logs of the apps grow by a gigabyte in a long run. */
  truncateLogs(): void;
  stop(): Promise<void>;
}

export interface SystemOptions {
  readonly engines: Engines;
  /** The root of the checkout whose apps run. */
  readonly checkout: string;
  readonly directory: string;
  /** The gateway reaches the device service over this Unix socket. */
  readonly deviceServiceSocket?: string;
}

const SCOPES = ['device:read', 'device:write', 'device:log', 'device:report'];
const TOKEN_SECONDS = 24 * 3600;

export async function startSystem(options: SystemOptions): Promise<System> {
  const { engines, checkout, directory, deviceServiceSocket } = options;
  mkdirSync(directory, { recursive: true });
  const masterKey = randomBytes(32);
  const {
    store,
    database,
    pids: enginePids,
    stop: stopEngines,
  } = await startEngines(engines, directory);
  const ports = await Promise.all(Array.from({ length: 4 }, freePort));
  const [gatewayPort, gatewayOperations, servicePort, serviceOperations] = ports.map(String);
  const url = `http://127.0.0.1:${gatewayPort}`;
  const write = (name: string, content: string) => {
    const path = join(directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const log = write('apps.log', '');
  const env = {
    DATA_DIR: directory,
    STORE_URL: store,
    DATABASE_URL: database,
    MASTER_KEY_FILE: write('master.key', masterKey.toString('hex')),
    BOOTSTRAP_FILE: write('bootstrap.json', JSON.stringify(bootstrap())),
    GATEWAY_URL: url,
    GATEWAY_JWKS_URL: `http://127.0.0.1:${gatewayOperations}/.well-known/jwks.json`,
    CLIENT_RATE_LIMIT: '100000000/60',
    ...(deviceServiceSocket !== undefined && { DEVICE_SERVICE_SOCKET: deviceServiceSocket }),
  };
  const startApp = (app: string, variables: Record<string, string>) =>
    startNode(undefined, join(checkout, 'apps', app, 'src/main.ts'), [], {
      log,
      env: { ...env, ...variables },
    });
  const startApps = () =>
    Promise.all([
      startApp('gateway', {
        GATEWAY_PORT: gatewayPort ?? '',
        OPERATIONS_PORT: gatewayOperations ?? '',
        DEVICE_SERVICE_URL: `http://127.0.0.1:${servicePort}`,
      }),
      startApp('device-service', {
        DEVICE_SERVICE_PORT: servicePort ?? '',
        OPERATIONS_PORT: serviceOperations ?? '',
      }),
    ]);
  let apps: readonly ChildProcess[] = await startApps();
  const tokens = await createTokens(store, masterKey);
  await fill(url, tokens);
  return {
    url,
    tokens,
    pids: () => {
      const [gateway, service] = apps;
      return { gateway: [pidOf(gateway)], 'device service': [pidOf(service)], ...enginePids };
    },
    async restart() {
      await Promise.all(apps.map(stop));
      apps = await startApps();
    },
    async startGatewayFor(serviceUrl) {
      const port = String(await freePort());
      const child = await startApp('gateway', {
        GATEWAY_PORT: port,
        OPERATIONS_PORT: String(await freePort()),
        DEVICE_SERVICE_URL: serviceUrl,
      });
      return { url: `http://127.0.0.1:${port}`, pid: pidOf(child) };
    },
    truncateLogs: () => truncateSync(log),
    async stop() {
      await Promise.all(apps.map(stop));
      await stopEngines();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function bootstrap() {
  return {
    organizations: Object.keys(secureKeys).map((id) => ({ id, name: id })),
    clients: Object.entries(secureKeys).map(([id, secureKey]) => ({
      clientId: id,
      secureKey,
      name: id,
      orgId: id,
      scopes: SCOPES,
    })),
  };
}

/** SQLite files, or a Redis and a PostgreSQL server. */
async function startEngines(engines: Engines, directory: string) {
  if (engines === 'embedded') {
    return {
      store: `sqlite:${join(directory, 'store.sqlite')}`,
      database: `sqlite:${join(directory, 'devices.sqlite')}`,
      pids: {},
      stop: async () => {},
    };
  }
  const port = await freePort();
  const redis = start(undefined, 'redis-server', ['--port', String(port), '--dir', directory]);
  const postgres = await startPostgresServer();
  return {
    store: `redis://127.0.0.1:${port}`,
    database: postgres.url,
    pids: { Redis: [pidOf(redis)], PostgreSQL: [postgres.pid] },
    stop: async () => {
      await stop(redis);
      await postgres.stop();
    },
  };
}

/** Writes the tokens as the authorization server does. */
async function createTokens(storeUrl: string, masterKey: Buffer) {
  const store = createStore(storeUrl);
  await sleep(300);
  const { credentialHash } = openIdentity({ store, masterKey });
  const issuedAt = Math.floor(Date.now() / 1000);
  const create = async (clientId: Organization) => {
    const token = randomBytes(32).toString('base64url');
    const record = { kind: 'ClientCredentials', clientId, scope: SCOPES.join(' ') };
    const text = JSON.stringify({ ...record, iat: issuedAt, exp: issuedAt + TOKEN_SECONDS });
    await store.set(credentialKey('AccessToken', credentialHash(token)), text, TOKEN_SECONDS);
    return token;
  };
  const tokens = { read: await create('read'), written: await create('written') };
  await store.close();
  return tokens;
}

/** Creates the devices of the list, and the log records of one device. */
async function fill(url: string, tokens: System['tokens']): Promise<void> {
  const post = async (path: string, body: object, organization: Organization) => {
    const reply = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${tokens[organization]}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    if (!reply.ok) {
      throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    }
    await reply.arrayBuffer();
  };
  for (const organization of ['read', 'written'] as const) {
    for (let index = 0; index < LISTED_DEVICES; index += 1) {
      const product = { productId: 'p', productName: 'Product' };
      const configuration = { isDebug: 'false', parseType: '' };
      const device = { id: `d-${index}`, name: `Device ${index}`, ...product, configuration };
      await post('/device-instance', device, organization);
    }
    for (let index = 0; index < LOG_RECORDS; index += 1) {
      const record = { type: 'reportProperty', content: '{"temperature":21.5,"humidity":40}' };
      await post('/api/v1/device/d-1/log', record, organization);
    }
  }
}

/** The replies of a system, which a server can send from memory. */
export async function recordReplies({ url, tokens }: System): Promise<Record<string, string>> {
  const replies: Record<string, string> = {};
  for (const each of cases) {
    const { method, path, headers, body } = createRequest(each, 'bearer', tokens);
    const reply = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body }),
    });
    if (!reply.ok) {
      throw new Error(`${each.name}: ${reply.status} ${await reply.text()}`);
    }
    replies[keyOf(each)] = await reply.text();
  }
  return replies;
}

function keyOf({ method, path }: Case): string {
  return `${method} ${path}`;
}

function pidOf(child: ChildProcess | undefined): number {
  return child?.pid ?? 0;
}
