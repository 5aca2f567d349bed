// requires: redis-server postgresql
// runs alone: it has deadlines of seconds under load
/**
 * Checks the tables of docs/operations/troubleshoot.md against processes, and stops each part in
 * turn.
 */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppName, basic, startApp, until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readDocument, tableRows } from './documents.ts';
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

/** In the format of a table cell. */
async function describeReply(asked: Promise<Response>): Promise<string> {
  const reply = await asked.catch(() => undefined);
  if (reply === undefined) {
    return 'no answer';
  }
  const { code, error } = (await reply.json()) as { code?: string; error?: string };
  return reply.ok ? 'works' : `${reply.status} \`${error ?? code}\``;
}

async function describeReadiness(): Promise<string> {
  const states = await Promise.all(
    apps.map(async (app) => [app, await platform.ready(app).catch(() => 'gone')] as const),
  );
  const missing = states
    .filter(([, state]) => state.startsWith('503 '))
    .map(([app, state]) => `\`${app}\`: \`${state.slice(4)}\``);
  return missing.length === 0 ? 'none' : missing.join('<br>');
}

interface Failure {
  /** Causes the failure. Resolves to the error output if an app fails to start. */
  begin(): Promise<unknown>;
  end(): Promise<unknown> | unknown;
  /** Replaces the ordinary call to the gateway. */
  readonly call?: () => Promise<Response>;
}

const signal = (app: AppName, name: NodeJS.Signals) =>
  process.kill(platform.process(app).pid, name);

const wrongly = (app: AppName, environment: Record<string, string>): Failure => ({
  begin: () => platform.restart(app, environment),
  end: () => platform.restart(app),
});

const fullRedis: Failure = {
  begin: () => platform.redis.command('CONFIG', 'SET', 'maxmemory', '1'),
  end: () => platform.redis.command('CONFIG', 'SET', 'maxmemory', '0'),
};

const failures: Readonly<Record<string, Failure>> = {
  'Redis is unavailable': {
    begin: () => platform.redis.kill(),
    end: () => platform.redis.restart(),
  },
  'Redis does not answer': {
    begin: async () => platform.redis.freeze(),
    end: () => platform.redis.thaw(),
  },
  // A signature must be stored. A token needs no write.
  'Redis is full: signed call': { ...fullRedis, call: () => withClockOffBy(0) },
  'Redis is full: call with a token': fullRedis,
  'The authorization server is down': {
    begin: () => platform.process('authorization-server').kill(),
    end: () => platform.restart('authorization-server'),
  },
  'The device service is down': {
    begin: () => platform.process('device-service').kill(),
    end: () => platform.restart('device-service'),
  },
  'The device service does not answer': {
    begin: async () => signal('device-service', 'SIGSTOP'),
    end: () => signal('device-service', 'SIGCONT'),
  },
  'PostgreSQL is unavailable': {
    begin: () => platform.postgres.kill(),
    end: () => platform.postgres.restart(),
  },
  'PostgreSQL does not answer': {
    begin: async () => platform.postgres.freeze(),
    end: () => platform.postgres.thaw(),
  },
  'Another `GATEWAY_URL` at the device service': wrongly('device-service', {
    GATEWAY_URL: 'http://localhost:1',
  }),
  'A wrong `GATEWAY_JWKS_URL` at the device service': wrongly('device-service', {
    GATEWAY_JWKS_URL: 'http://127.0.0.1:1/',
  }),
  'A caller’s clock is off by six minutes': {
    begin: async () => undefined,
    end: () => undefined,
    call: () => withClockOffBy(-6 * 60_000),
  },
};

const guide = readDocument('docs/operations/troubleshoot.md');
/** The second table has no column for `/ready`, which reports none of its mistakes. */
const rows = [
  ...tableRows(guide, 'Outages').map(({ cells }) => cells),
  ...tableRows(guide, 'Wrong settings').map(({ cells }) => cells.toSpliced(3, 0, 'none')),
].map(([what = '', server, gateway, ready, log = '']) => ({
  what: what.replace("'", '’'),
  states: { server, gateway },
  ready,
  log: [...log.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words),
}));
const refusal = 'Another master key';

test('the tables have every failure that is tested, and no other', () => {
  expect(rows.map(({ what }) => what).sort()).toEqual([...Object.keys(failures), refusal].sort());
});

async function untilWhole(): Promise<void> {
  await until(async () => {
    const states = [await describeReply(askForToken()), await describeReply(withToken())];
    expect(states).toEqual(['works', 'works']);
    // A full store is ready, so the status alone does not show it.
    const ready = await Promise.all(apps.map((app) => platform.ready(app)));
    expect(ready).toEqual(apps.map(() => '200'));
  });
}

describe.each(rows.filter(({ what }) => what in failures))('$what', ({ what, ...stated }) => {
  test('gets the reply that docs/operations/troubleshoot.md states, and recovers', async () => {
    await untilWhole();
    const logs = apps.map((app) => platform.process(app));
    const before = logs.map((each) => each.output().length);
    const failure = failures[what];
    await failure?.begin();
    try {
      const server = await describeReply(askForToken());
      const gateway = await describeReply(failure?.call?.() ?? withToken());
      expect({ server, gateway }).toEqual(stated.states);
      expect(await describeReadiness()).toBe(stated.ready);
    } finally {
      await failure?.end();
    }
    await untilWhole();
    // The gateway buffers its log lines.
    await sleep(200);
    const written = logs.map((each, index) => each.output().slice(before[index])).join('\n');
    expect(stated.log.filter((words) => !written.includes(words))).toEqual([]);
    expect(written).not.toContain(token);
  });
});

describe(refusal, () => {
  const stated = rows.find(({ what }) => what === refusal);

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
      expect(stated?.states).toEqual({ server: 'refuses to start', gateway: 'refuses to start' });
      expect(stated?.log.filter((each) => !words.includes(each))).toEqual([]);
      expect(words).toContain(`${app} ended with 1`);
    },
  );
});
