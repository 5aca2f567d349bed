// requires: redis-server postgresql
// runs alone: it has deadlines of seconds under load
/** Stops each part in turn, and checks what callers and operators see of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AppName,
  machineToken,
  oneClient,
  postAs,
  signatureHeaders,
  startPostgresServer,
  startRedisServer,
  until,
} from '@gatehouse/testing';
import { startSystem, temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';

const secureKey = 'failKey0123456789abcdef';
const folder = temporaryFolder();
const apps = ['authorization-server', 'gateway', 'device-service'] as const;
const [redis, postgres] = await Promise.all([
  startRedisServer({ arguments: ['--appendonly', 'yes'] }),
  startPostgresServer(),
]);
const platform = await startSystem({
  engine: { storeUrl: redis.url, storedText: async () => '', stop: redis.stop },
  bootstrap: oneClient(secureKey),
  environment: { DATABASE_URL: postgres.url, LOG_LEVEL: 'info' },
});
afterAll(() => postgres.stop());
const token = await machineToken(platform, secureKey);

const askForToken = () =>
  postAs(
    `${platform.authorizationServerUrl}/token`,
    { clientId: 'one', secureKey },
    { grant_type: 'client_credentials' },
  );

async function restart(app: AppName, environment?: Record<string, string>): Promise<void> {
  await platform.member(app).process.stop();
  await platform.member(app).start(environment);
}

/** The status of `/ready`, and the failed checks. */
async function ready(app: AppName): Promise<string> {
  const signal = AbortSignal.timeout(10_000);
  const reply = await fetch(`${platform.member(app).operationsUrl}/ready`, { signal });
  const { checks } = (await reply.json()) as { checks: Record<string, string> };
  const missing = Object.entries(checks).filter(([, state]) => state !== 'ok');
  return [reply.status, ...missing.map(([name]) => name)].join(' ');
}

const withToken = () =>
  fetch(`${platform.gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } });

function withClockOffBy(milliseconds: number) {
  const headers = signatureHeaders({ clientId: 'one', secureKey }, '', Date.now() + milliseconds);
  return fetch(`${platform.gatewayUrl}/api/device`, { headers });
}

async function describeReply(asked: Promise<Response>): Promise<string> {
  const reply = await asked.catch(() => undefined);
  if (reply === undefined) {
    return 'no answer';
  }
  const { code, error } = (await reply.json()) as { code?: string; error?: string };
  return reply.ok ? 'works' : `${reply.status} ${error ?? code}`;
}

async function describeReadiness(): Promise<readonly string[]> {
  const states = await Promise.all(
    apps.map(async (app) => [app, await ready(app).catch(() => 'gone')] as const),
  );
  return states
    .filter(([, state]) => state.startsWith('503 '))
    .map(([app, state]) => `${app}: ${state.slice(4)}`);
}

interface Failure {
  /** What a request for a token and a call to the gateway get. */
  readonly server: string;
  readonly gateway: string;
  /** The apps that are not ready, with the check that fails. Default: none. */
  readonly notReady?: readonly string[];
  /** Words in the logs. Default: none. */
  readonly log?: readonly string[];
  /** Causes the failure. Resolves to the error output if an app fails to start. */
  begin(): Promise<unknown>;
  end(): Promise<unknown> | unknown;
  /** Replaces the ordinary call to the gateway. */
  readonly call?: () => Promise<Response>;
}

const signal = (app: AppName, name: NodeJS.Signals) =>
  process.kill(platform.member(app).process.pid, name);

const wrongly = (app: AppName, environment: Record<string, string>) => ({
  begin: () => restart(app, environment),
  end: () => restart(app),
});

const storeUnavailable = {
  server: '503 temporarily_unavailable',
  gateway: '503 service_unavailable',
  notReady: ['authorization-server: store', 'gateway: store'],
};

const databaseUnavailable = {
  server: 'works',
  gateway: '503 service_unavailable',
  notReady: ['device-service: database'],
  log: ['DatabaseUnavailableError'],
};

const fullRedis = {
  server: '503 temporarily_unavailable',
  log: ['store full', 'OOM command not allowed'],
  begin: () => redis.command('CONFIG', 'SET', 'maxmemory', '1'),
  end: () => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
};

const failures: Readonly<Record<string, Failure>> = {
  'Redis is unavailable': {
    ...storeUnavailable,
    log: ['store unavailable'],
    begin: () => redis.kill(),
    end: () => redis.restart(),
  },
  'Redis does not answer': {
    ...storeUnavailable,
    log: ['StoreUnavailableError', 'No connection or no reply in time.'],
    begin: async () => redis.freeze(),
    end: () => redis.thaw(),
  },
  // A signature must be stored. A token needs no write.
  'Redis is full: signed call': {
    ...fullRedis,
    gateway: '503 service_unavailable',
    call: () => withClockOffBy(0),
  },
  'Redis is full: call with a token': { ...fullRedis, gateway: 'works' },
  'The authorization server is down': {
    server: 'no answer',
    gateway: 'works',
    begin: () => platform.member('authorization-server').process.kill(),
    end: () => restart('authorization-server'),
  },
  'The device service is down': {
    server: 'works',
    gateway: '502 bad_gateway',
    log: ['ECONNREFUSED'],
    begin: () => platform.member('device-service').process.kill(),
    end: () => restart('device-service'),
  },
  'The device service does not answer': {
    server: 'works',
    gateway: '504 timeout',
    log: ['upstream circuit open'],
    begin: async () => signal('device-service', 'SIGSTOP'),
    end: () => signal('device-service', 'SIGCONT'),
  },
  'PostgreSQL is unavailable': {
    ...databaseUnavailable,
    begin: () => postgres.kill(),
    end: () => postgres.restart(),
  },
  'PostgreSQL does not answer': {
    ...databaseUnavailable,
    begin: async () => postgres.freeze(),
    end: () => postgres.thaw(),
  },
  'Another GATEWAY_URL at the device service': {
    server: 'works',
    gateway: '502 bad_gateway',
    log: ['The service answered 401.'],
    ...wrongly('device-service', { GATEWAY_URL: 'http://localhost:1' }),
  },
  'A wrong GATEWAY_JWKS_URL at the device service': {
    server: 'works',
    gateway: '503 service_unavailable',
    ...wrongly('device-service', { GATEWAY_JWKS_URL: 'http://127.0.0.1:1/' }),
  },
  'A caller’s clock is off by six minutes': {
    server: 'works',
    gateway: '401 timestamp_out_of_range',
    begin: async () => undefined,
    end: () => undefined,
    call: () => withClockOffBy(-6 * 60_000),
  },
};

async function untilWhole(): Promise<void> {
  await until(async () => {
    const states = [await describeReply(askForToken()), await describeReply(withToken())];
    expect(states).toEqual(['works', 'works']);
    // A full store is ready, so the status alone does not show it.
    expect(await Promise.all(apps.map(ready))).toEqual(apps.map(() => '200'));
  });
}

describe.each(Object.entries(failures))('%s', (_what, failure) => {
  test('gets the expected replies, and recovers', async () => {
    await untilWhole();
    const logs = apps.map((app) => platform.member(app).process);
    const before = logs.map((each) => each.output().length);
    await failure.begin();
    try {
      const server = await describeReply(askForToken());
      const gateway = await describeReply(failure.call?.() ?? withToken());
      expect([server, gateway]).toEqual([failure.server, failure.gateway]);
      expect(await describeReadiness()).toEqual(failure.notReady ?? []);
    } finally {
      await failure.end();
    }
    await untilWhole();
    // The gateway buffers its log lines.
    await sleep(200);
    const written = logs.map((each, index) => each.output().slice(before[index])).join('\n');
    expect((failure.log ?? []).filter((words) => !written.includes(words))).toEqual([]);
    expect(written).not.toContain(token);
  });
});

test.each(['authorization-server', 'gateway'] as const)(
  'another master key prevents the start of the %s',
  async (app) => {
    await untilWhole();
    await platform.member(app).process.stop();
    const MASTER_KEY_FILE = writeMasterKey(folder);
    const started = platform.member(app).start({ MASTER_KEY_FILE, BOOTSTRAP_FILE: '' });
    await expect(started).rejects.toThrow(
      'MASTER_KEY_FILE: names a key that differs from the master key of this store',
    );
    await platform.member(app).start();
  },
);
