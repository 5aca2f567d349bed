import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AppName,
  type AppProcess,
  freePort,
  type PostgresServer,
  type RedisServer,
  startApp,
  startPostgresServer,
  startRedisServer,
} from '@gatehouse/testing';

export const apps = ['authorization-server', 'gateway', 'device-service'] as const;

/** The three apps with Redis and PostgreSQL. A test can stop each part. */
export interface Platform {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly directory: string;
  readonly urls: Readonly<Record<AppName, string>>;
  process(app: AppName): AppProcess;
  /** Stops the app first if it runs, and starts it with the given variables, if any. */
  restart(app: AppName, environment?: Readonly<Record<string, string>>): Promise<void>;
  /** The status of `/ready`, and the failed checks. */
  ready(app: AppName): Promise<string>;
  environment(app: AppName): Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const portVariables = {
  'authorization-server': 'AUTHORIZATION_SERVER_PORT',
  gateway: 'GATEWAY_PORT',
  'device-service': 'DEVICE_SERVICE_PORT',
} as const satisfies Record<AppName, string>;

export async function startPlatform(
  bootstrap: unknown,
  redisArguments: readonly string[] = [],
): Promise<Platform> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-platform-'));
  const [redis, postgres] = await Promise.all([
    startRedisServer({ arguments: redisArguments }),
    startPostgresServer(),
  ]);
  const ports = new Map<AppName, { port: number; operations: number }>();
  for (const app of apps) {
    ports.set(app, { port: await freePort(), operations: await freePort() });
  }
  const portOf = (app: AppName) => ports.get(app) ?? { port: 0, operations: 0 };
  const urlOf = (app: AppName) => `http://localhost:${portOf(app).port}`;
  const file = (name: string, content: string) => {
    const path = join(directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const shared = {
    DATA_DIR: directory,
    STORE_URL: redis.url,
    DATABASE_URL: postgres.url,
    MASTER_KEY_FILE: file('master.key', randomBytes(32).toString('hex')),
    BOOTSTRAP_FILE: file('bootstrap.json', JSON.stringify(bootstrap)),
    AUTHORIZATION_SERVER_URL: urlOf('authorization-server'),
    GATEWAY_URL: urlOf('gateway'),
    DEVICE_SERVICE_URL: urlOf('device-service').replace('localhost', '127.0.0.1'),
    GATEWAY_JWKS_URL: `http://127.0.0.1:${portOf('gateway').operations}/.well-known/jwks.json`,
  };
  const environment = (app: AppName) => ({
    ...shared,
    [portVariables[app]]: String(portOf(app).port),
    OPERATIONS_PORT: String(portOf(app).operations),
  });
  const running = new Map<AppName, AppProcess>();
  const process = (app: AppName): AppProcess => {
    const found = running.get(app);
    if (found === undefined) {
      throw new Error(`${app} does not run.`);
    }
    return found;
  };
  const restart = async (app: AppName, other: Readonly<Record<string, string>> = {}) => {
    await running.get(app)?.stop();
    running.set(app, await startApp(app, { ...environment(app), ...other }));
  };
  const stop = async () => {
    await Promise.all([...running.values()].map((each) => each.stop()));
    await Promise.all([redis.stop(), postgres.stop()]);
    rmSync(directory, { recursive: true });
  };
  try {
    await Promise.all(apps.map((app) => restart(app)));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    redis,
    postgres,
    directory,
    process,
    restart,
    environment,
    stop,
    urls: {
      'authorization-server': urlOf('authorization-server'),
      gateway: urlOf('gateway'),
      'device-service': urlOf('device-service'),
    },
    async ready(app) {
      const signal = AbortSignal.timeout(10_000);
      const reply = await fetch(`http://localhost:${portOf(app).operations}/ready`, { signal });
      const { checks } = (await reply.json()) as { checks: Record<string, string> };
      const missing = Object.entries(checks).filter(([, state]) => state !== 'ok');
      return [reply.status, ...missing.map(([name]) => name)].join(' ');
    },
  };
}
