// requires: redis-server postgresql
// runs alone: it has deadlines of seconds under load
/** Stops each part in turn, and checks what callers and operators see of it. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppName, basic, startApp, until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apps, type Platform, startPlatform } from './platform.ts';

const secureKey = 'failKey0123456789abcdef';
const asApp = basic('app', secureKey);
let platform: Platform;
let token: string;

beforeAll(async () => {
  platform = await startPlatform(
    {
      organizations: [{ id: 'org-1', name: 'One' }],
      clients: [
        {
          clientId: 'app',
          secureKey,
          name: 'App',
          orgId: 'org-1',
          scopes: ['device:read'],
          grantTypes: ['client_credentials'],
        },
      ],
    },
    ['--appendonly', 'yes'],
  );
  const reply = await askForToken();
  token = ((await reply.json()) as { access_token: string }).access_token;
});
afterAll(() => platform.stop());

function askForToken(): Promise<Response> {
  return fetch(`${platform.urls['authorization-server']}/token`, {
    method: 'POST',
    headers: { authorization: asApp },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
}

const withToken = () =>
  fetch(`${platform.urls.gateway}/api/device`, { headers: { authorization: `Bearer ${token}` } });

function withClockOffBy(milliseconds: number) {
  const timestamp = String(Date.now() + milliseconds);
  const sign = createHash('sha256').update(`${timestamp}${secureKey}`).digest('hex');
  const headers = { 'X-Client-Id': 'app', 'X-Timestamp': timestamp, 'X-Sign': sign };
  return fetch(`${platform.urls.gateway}/api/device`, { headers });
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
    apps.map(async (app) => [app, await platform.ready(app).catch(() => 'gone')] as const),
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
  process.kill(platform.process(app).pid, name);

const wrongly = (app: AppName, environment: Record<string, string>) => ({
  begin: () => platform.restart(app, environment),
  end: () => platform.restart(app),
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
  begin: () => platform.redis.command('CONFIG', 'SET', 'maxmemory', '1'),
  end: () => platform.redis.command('CONFIG', 'SET', 'maxmemory', '0'),
};

const failures: Readonly<Record<string, Failure>> = {
  'Redis is unavailable': {
    ...storeUnavailable,
    log: ['store unavailable'],
    begin: () => platform.redis.kill(),
    end: () => platform.redis.restart(),
  },
  'Redis does not answer': {
    ...storeUnavailable,
    log: ['StoreUnavailableError', 'No connection or no reply in time.'],
    begin: async () => platform.redis.freeze(),
    end: () => platform.redis.thaw(),
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
    begin: () => platform.process('authorization-server').kill(),
    end: () => platform.restart('authorization-server'),
  },
  'The device service is down': {
    server: 'works',
    gateway: '502 bad_gateway',
    log: ['ECONNREFUSED'],
    begin: () => platform.process('device-service').kill(),
    end: () => platform.restart('device-service'),
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
    begin: () => platform.postgres.kill(),
    end: () => platform.postgres.restart(),
  },
  'PostgreSQL does not answer': {
    ...databaseUnavailable,
    begin: async () => platform.postgres.freeze(),
    end: () => platform.postgres.thaw(),
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
    const ready = await Promise.all(apps.map((app) => platform.ready(app)));
    expect(ready).toEqual(apps.map(() => '200'));
  });
}

describe.each(Object.entries(failures))('%s', (_what, failure) => {
  test('gets the expected replies, and recovers', async () => {
    await untilWhole();
    const logs = apps.map((app) => platform.process(app));
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

describe('Another master key', () => {
  test.each(['authorization-server', 'gateway'] as const)(
    'prevents the start of the %s',
    async (app) => {
      await untilWhole();
      const wrong = join(platform.directory, 'wrong.key');
      writeFileSync(wrong, randomBytes(32).toString('hex'), { mode: 0o600 });
      const environment = {
        ...platform.environment(app),
        MASTER_KEY_FILE: wrong,
        BOOTSTRAP_FILE: '',
      };
      const ports = { AUTHORIZATION_SERVER_PORT: '0', GATEWAY_PORT: '0', OPERATIONS_PORT: '0' };
      const words = await startApp(app, { ...environment, ...ports }).then(
        () => 'it started',
        (error: Error) => error.message,
      );
      expect(words).toContain(
        'MASTER_KEY_FILE: names a key that differs from the master key of this store',
      );
      expect(words).toContain(`${app} ended with 1`);
    },
  );
});
