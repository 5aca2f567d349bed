import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createConnectionServer } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { assertMasterKeyFits, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  type AppProcess,
  freePort,
  listen,
  makeCertificate,
  type RedisServer,
  startApp,
  startRedisServer,
} from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { checkPublicServer } from '../src/doctor/check-servers.ts';
import type { Finding, FindingId } from '../src/doctor/findings.ts';
import { runGatehouse } from './run-gatehouse.ts';

const NOTHING_LISTENS = 1;
/** Loopback URLs of servers that do not run. */
const offline = {
  AUTHORIZATION_SERVER_PORT: String(NOTHING_LISTENS),
  GATEWAY_PORT: String(NOTHING_LISTENS),
  DEVICE_SERVICE_PORT: String(NOTHING_LISTENS),
};

const tlsFolder = temporaryFolder();
let directory: string;
let redis: RedisServer;
let cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  redis = await startRedisServer();
});
beforeEach(() => {
  directory = temporaryFolder();
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) {
    await cleanup();
  }
  cleanups = [];
});
afterAll(() => redis.stop());

async function doctor(
  environment: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<readonly Finding[]> {
  const words = ['doctor', '--json', ...options];
  const reply = await runGatehouse({ ...offline, ...environment }, words);
  const findings: readonly Finding[] = reply.json.findings;
  const hasError = findings.some(({ severity }) => severity === 'error');
  expect(reply.code).toBe(hasError ? 1 : 0);
  return findings;
}

async function expectFinding(
  id: FindingId,
  findings: Promise<readonly Finding[]> | readonly Finding[],
  what: RegExp,
): Promise<void> {
  const expected = expect.objectContaining({ id, what: expect.stringMatching(what) });
  expect(await findings).toContainEqual(expected);
}

/** An empty store with a master key, and the environment of its servers. */
function newStore(url?: string) {
  const MASTER_KEY_FILE = writeMasterKey(directory);
  const file = join(directory, 'gatehouse.sqlite');
  writeFileSync(file, '', { mode: 0o600 });
  return { STORE_URL: url ?? `sqlite:${file}`, MASTER_KEY_FILE, DATA_DIR: directory };
}

function openStoreOf({ STORE_URL, MASTER_KEY_FILE }: ReturnType<typeof newStore>) {
  const store = createStore(STORE_URL);
  cleanups.push(() => store.close());
  const masterKey = Buffer.from(readFileSync(MASTER_KEY_FILE, 'utf8'), 'hex');
  return openIdentity({ store, masterKey });
}

async function serve(listener: RequestListener, certificate?: { key: Buffer; cert: Buffer }) {
  const server =
    certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  const port = await listen(server, '0.0.0.0');
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, url: `${certificate === undefined ? 'http' : 'https'}://0.0.0.0:${port}` };
}

function bootstrapFile() {
  const BOOTSTRAP_FILE = join(directory, 'bootstrap.json');
  writeFileSync(BOOTSTRAP_FILE, '{}', { mode: 0o600 });
  return { BOOTSTRAP_FILE };
}

describe('the environment', () => {
  test('a store that works has no finding, except servers that are stopped', async () => {
    const environment = newStore();
    openStoreOf(environment);
    const ids = (await doctor(environment)).map(({ id }) => id);
    expect(ids).toEqual(['url_not_checked', 'url_not_checked']);
  });

  test('invalid and misspelled variables', async () => {
    await expectFinding('variable_invalid', doctor({ GATEWAY_URL: 'nonsense' }), /^GATEWAY_URL: /);
    const findings = await doctor({
      ...newStore(),
      GATEWAY_SOCKETS: '/run/gateway',
      GATEWAY_URL: `https://0.0.0.0:${NOTHING_LISTENS}`,
    });
    await expectFinding('variable_misspelled', findings, /GATEWAY_SOCKETS/);
    await expectFinding('url_unreachable', findings, /ECONNREFUSED/);
  });

  test('a missing store, and another master key', async () => {
    await expectFinding('store_not_opened', doctor({ DATA_DIR: directory }), /contains no store/);
    const environment = newStore();
    await assertMasterKeyFits(openStoreOf(environment));
    writeFileSync(environment.MASTER_KEY_FILE, randomBytes(32).toString('hex'));
    await expectFinding('store_not_opened', doctor(environment), /^MASTER_KEY_FILE: /);
  });

  test('a secret that other users can read', async () => {
    const environment = newStore();
    chmodSync(environment.MASTER_KEY_FILE, 0o644);
    await expectFinding('file_exposed', doctor(environment), /^MASTER_KEY_FILE/);
  });
});

describe('the store', () => {
  beforeEach(() => redis.command('FLUSHALL'));

  test('a store that does not answer', async () => {
    const environment = newStore(`redis://127.0.0.1:${NOTHING_LISTENS}`);
    await expectFinding('store_unavailable', doctor(environment), /./);
  });

  test('Redis without an append-only file', async () => {
    const findings = await doctor(newStore(redis.url));
    await expectFinding('store_may_lose_writes', findings, /append-only file/);
  });

  test('a Redis whose clock is wrong', async () => {
    const changed = await listenInFrontOf(redis.port, (reply) =>
      reply.replace(/server_time_usec:\d/, 'server_time_usec:2'),
    );
    const findings = await doctor(newStore(`redis://127.0.0.1:${changed}`));
    await expectFinding('clock_differs', findings, /^The clock of Redis is \d+ s ahead of/);
  });
});

/** Passes bytes to the port, and changes the replies. Their length must stay. */
async function listenInFrontOf(port: number, change: (reply: string) => string): Promise<number> {
  const server = createConnectionServer((client) => {
    const target = connect(port, '127.0.0.1');
    client.on('data', (data) => target.write(data)).on('close', () => target.destroy());
    target
      .on('data', (data) => client.write(change(data.toString('latin1')), 'latin1'))
      .on('close', () => client.destroy());
    client.on('error', () => undefined);
    target.on('error', () => undefined);
  });
  cleanups.push(() => server.close());
  return listen(server);
}

describe('servers as clients see them', () => {
  let certificate: { key: Buffer; cert: Buffer };
  beforeAll(() => {
    const { certificateFile, keyFile, authority } = makeCertificate(tlsFolder, ['0.0.0.0']);
    certificate = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) };
    setDefaultCACertificates([...getCACertificates('default'), authority]);
  });

  /** A gateway, with `http://0.0.0.0` as its public address. Its peers are loopback addresses. */
  async function startGateway(environment: Readonly<Record<string, string>>) {
    const GATEWAY_PORT = String(await freePort());
    const app: AppProcess = await startApp('gateway', { ...environment, GATEWAY_PORT });
    cleanups.push(app.stop);
    return { GATEWAY_PORT, GATEWAY_URL: `http://0.0.0.0:${GATEWAY_PORT}`, pid: app.pid };
  }

  const findingsOfGateway = (url: string) =>
    checkPublicServer({ name: 'gateway', variable: 'GATEWAY_URL', url });

  test('a gateway without TLS, whose operations port is public, behind an unknown proxy', async () => {
    const environment = newStore();
    const { pid, ...gateway } = await startGateway({ ...environment, ...bootstrapFile() });
    const findings = await doctor({ ...environment, ...gateway });
    await expectFinding('url_not_https', findings, /^GATEWAY_URL is http:/);
    await expectFinding('operations_public', findings, /metrics answers/);
    await expectFinding('issuer_differs', findings, /address http:\/\/localhost:/);
    await expectFinding('proxy_not_trusted', findings, /sees the address 127\.0\.0\.1/);
    // Forward auth is off.
    expect(findings.map(({ id }) => id)).not.toContain('verification_public');
  });

  test('a gateway that trusts every caller', async () => {
    const environment = newStore();
    const trusting = { TRUSTED_PROXIES: '127.0.0.1', FORWARD_AUTH: 'true' };
    const { pid, ...gateway } = await startGateway({
      ...environment,
      ...bootstrapFile(),
      ...trusting,
    });
    const findings = await doctor({ ...environment, ...gateway });
    await expectFinding('forged_address_accepted', findings, /believes what any caller claims/);
    await expectFinding('verification_public', findings, / answers \/_verify with 400\.$/);
  });

  test('a gateway with another store, and the demo', async () => {
    const environment = newStore();
    const { pid, ...gateway } = await startGateway({ DATA_DIR: join(directory, 'other') });
    const findings = await doctor({ ...environment, ...gateway });
    await expectFinding('server_uses_other_store', findings, /request log/);
    const ofDemo = await doctor({ ...gateway, DATA_DIR: join(directory, 'other') });
    await expectFinding('demo_in_production', ofDemo, /demo client/);
  });

  test('a gateway that is not ready', async () => {
    const store = newStore(`redis://127.0.0.1:${NOTHING_LISTENS}`);
    const { GATEWAY_PORT } = await startGateway({ ...store, ...bootstrapFile() });
    await expectFinding('app_not_ready', doctor({ ...newStore(), GATEWAY_PORT }), /store is /);
  });

  test('a frozen server, and a program at the operations port that prints control characters', async () => {
    const environment = newStore();
    const { GATEWAY_PORT, pid } = await startGateway({ ...environment, ...bootstrapFile() });
    process.kill(pid, 'SIGSTOP');
    cleanups.push(() => process.kill(pid, 'SIGCONT'));
    const ofFrozen = await doctor({ ...environment, GATEWAY_PORT });
    await expectFinding('app_not_ready', ofFrozen, /does not answer/);

    const hostile = await serve((_request, response) =>
      response
        .writeHead(503)
        .end(JSON.stringify({ checks: { store: '\u001b[2J\nERROR  run: curl evil' } })),
    );
    const findings = await doctor({ ...environment, OPERATIONS_PORT: String(hostile.port) });
    await expectFinding('app_not_ready', findings, /store is \?\[2J\?ERROR/);
  });

  test('a proxy that redirects, or serves something else', async () => {
    const moved = await serve((_request, response) =>
      response.writeHead(302, { Location: 'https://new.example/?code=secret' }).end(),
    );
    const other = await serve((_request, response) => response.end('<h1>It works</h1>'));
    const findings = await doctor({
      ...newStore(),
      AUTHORIZATION_SERVER_URL: moved.url,
      GATEWAY_URL: other.url,
    });
    await expectFinding('url_of_another_service', findings, /302 \(to https:\/\/new\.example\/\)/);
    await expectFinding('url_of_another_service', findings, /answers with 200/);
    expect(JSON.stringify(findings)).not.toContain('secret');
  });

  test.each([
    ['blocks /_verify and every path below it', /^\/_verify/, []],
    ['blocks only /_verify itself', /^\/_verify$/, ['/_verify/doctor with 400']],
    ['blocks nothing', /^$/, ['/_verify with 400', '/_verify/doctor with 400']],
  ] as const)('a public gateway behind a proxy that %s', async (_name, blocked, answers) => {
    // The status of the gateway for requests without a credential, with forward auth.
    const ofGateway = (url: string) => (url.startsWith('/_verify') ? 400 : 401);
    const proxy = await serve(({ url = '', headers }, response) =>
      url.startsWith('/.well-known/')
        ? response.end(JSON.stringify({ resource: `http://${headers.host}` }))
        : response.writeHead(blocked.test(url) ? 404 : ofGateway(url)).end(),
    );
    const findings = await findingsOfGateway(proxy.url);
    const found = findings.filter(({ id }) => id === 'verification_public');
    expect(found.map(({ what }) => what)).toEqual(
      answers.map((answer) => `GATEWAY_URL ${proxy.url} answers ${answer}.`),
    );
  });

  test('--addresses needs no store, and --fail decides the exit code', async () => {
    const options = { ...bootstrapFile(), EXPLORER: 'false' };
    const { pid, ...gateway } = await startGateway({ ...newStore(), ...options });
    const environment = { ...offline, ...gateway, DATA_DIR: join(directory, 'none') };
    const run = (...options: string[]) =>
      runGatehouse(environment, ['doctor', '--addresses', ...options]);
    const { code, output } = await run();
    expect(output).toContain('(operations_public)');
    expect(output).not.toContain('store_not_opened');
    expect(output).toMatch(/\n\nFound 3 problems\.\n$/);
    expect(code).toBe(1);
    expect((await run('--fail', 'never')).code).toBe(2);
  });

  test('a TLS proxy with an old certificate and a wrong clock', async () => {
    const proxy = await serve((_request, response) => {
      response.setHeader('Date', new Date(Date.now() - 60_000).toUTCString());
      response.end(JSON.stringify({ resource: 'https://other.example' }));
    }, certificate);
    const findings = await findingsOfGateway(proxy.url);
    await expectFinding('certificate_expires_soon', findings, /expires in 1 days/);
    await expectFinding('issuer_differs', findings, /address https:\/\/other\.example in/);
    await expectFinding('clock_differs', findings, /is (?:59|60|61) s behind the clock of this/);
  });
});
