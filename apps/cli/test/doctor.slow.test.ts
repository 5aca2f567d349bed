// requires: redis-server postgresql openssl
/** Provokes every finding of `gatehouse doctor` with real stores and servers. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createConnectionServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import {
  assertMasterKeyFits,
  generateSecureKey,
  loadSigningKeys,
  openIdentity,
} from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  type AppProcess,
  freePort,
  makeCertificate,
  processEnvironment,
  type RedisServer,
  startApp,
  startFaultProxy,
  startPostgresServer,
  startRedisServer,
} from '@gatehouse/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { checkFiles } from '../src/doctor/checks/check-files.ts';
import { checkForwarding } from '../src/doctor/checks/check-forwarding.ts';
import { checkPublicServer } from '../src/doctor/checks/check-public-server.ts';
import type { Finding } from '../src/doctor/finding.ts';
import { type FindingId, findingCatalogue } from '../src/doctor/finding-catalogue.ts';
import { readInstallation } from '../src/doctor/installation.ts';
import { runGatehouse } from './run-gatehouse.ts';

const cli = join(import.meta.dirname, '../src/main.ts');
const NOTHING_LISTENS = 1;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
const provoked = new Set<FindingId>();
/** Loopback URLs of servers that do not run. */
const offline = {
  AUTHORIZATION_SERVER_PORT: String(NOTHING_LISTENS),
  GATEWAY_PORT: String(NOTHING_LISTENS),
  DEVICE_SERVICE_PORT: String(NOTHING_LISTENS),
};

let directory: string;
let redis: RedisServer;
let cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  redis = await startRedisServer();
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-doctor-'));
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) {
    await cleanup();
  }
  cleanups = [];
  rmSync(directory, { recursive: true });
});
afterAll(() => redis.stop());

async function doctor(
  environment: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<readonly Finding[]> {
  const reply = await runGatehouse({ ...offline, ...environment }, [
    'doctor',
    '--json',
    ...options,
  ]);
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
  expect(await findings).toContainEqual(
    expect.objectContaining({ id, what: expect.stringMatching(what) }),
  );
  provoked.add(id);
}

/** An empty store with a master key, and the environment of its servers. */
function newStore(url?: string) {
  const MASTER_KEY_FILE = join(directory, 'master.key');
  writeFileSync(MASTER_KEY_FILE, randomBytes(32).toString('hex'), { mode: 0o600 });
  const file = join(directory, 'gatehouse.sqlite');
  writeFileSync(file, '', { mode: 0o600 });
  return { STORE_URL: url ?? `sqlite:${file}`, MASTER_KEY_FILE, DATA_DIR: directory };
}

function openStoreOf(
  { STORE_URL, MASTER_KEY_FILE }: ReturnType<typeof newStore>,
  now: () => number = Date.now,
) {
  const store = createStore(STORE_URL);
  cleanups.push(() => store.close());
  const masterKey = Buffer.from(readFileSync(MASTER_KEY_FILE, 'utf8'), 'hex');
  return openIdentity({ store, masterKey, now });
}

async function listen(listener: RequestListener, certificate?: { key: Buffer; cert: Buffer }) {
  const server =
    certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
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
    expect((await doctor(environment)).map(({ id }) => id)).toEqual([
      'url_not_checked',
      'url_not_checked',
    ]);
    provoked.add('url_not_checked');
  });

  test('invalid, misspelled and weak variables', async () => {
    await expectFinding('variable_invalid', doctor({ GATEWAY_URL: 'nonsense' }), /^GATEWAY_URL: /);
    const findings = await doctor({
      ...newStore(),
      GATEWAY_SOCKETS: '/run/gateway',
      GATEWAY_URL: `https://0.0.0.0:${NOTHING_LISTENS}`,
      TRUSTED_PROXIES: '0.0.0.0/1',
    });
    await expectFinding('variable_misspelled', findings, /GATEWAY_SOCKETS/);
    await expectFinding('production_setting_weak', findings, /^TRUSTED_PROXIES trusts too many/);
    await expectFinding('url_unreachable', findings, /ECONNREFUSED/);
  });

  test('a missing store, and another master key', async () => {
    await expectFinding('store_missing', doctor({ DATA_DIR: directory }), /contains no store/);
    const environment = newStore();
    await assertMasterKeyFits(openStoreOf(environment));
    writeFileSync(environment.MASTER_KEY_FILE, randomBytes(32).toString('hex'));
    await expectFinding('store_master_key_wrong', doctor(environment), /^MASTER_KEY_FILE: /);
  });

  test('a secret that other users can read', async () => {
    const environment = newStore();
    chmodSync(environment.MASTER_KEY_FILE, 0o644);
    await expectFinding('file_exposed', doctor(environment), /^MASTER_KEY_FILE/);
  });
});

describe('SQLite files', () => {
  /** Databases in two folders, neither of which is `DATA_DIR`. */
  function elsewhere() {
    const folders = ['stores', 'databases'].map((name) => join(directory, name));
    for (const folder of folders) {
      mkdirSync(folder);
    }
    const [store = '', database = ''] = folders.map((folder) => join(folder, 'file.sqlite'));
    const { MASTER_KEY_FILE } = newStore();
    return {
      store,
      database,
      environment: {
        MASTER_KEY_FILE,
        DATA_DIR: join(directory, 'unused'),
        STORE_URL: `sqlite:${store}`,
        DATABASE_URL: `sqlite:${database}`,
      },
    };
  }

  async function findingsOnSmallDisk(
    environment: Readonly<Record<string, string>>,
    folder: string,
  ) {
    const script = 'mount -t tmpfs -o size=32m tmpfs "$2"; exec "$0" "$1" doctor --json';
    const parameters = ['--mount', 'sh', '-ec', script, process.execPath, cli, folder];
    const reply = promisify(execFile)('/usr/bin/unshare', parameters, {
      env: { ...processEnvironment, ...offline, ...environment },
    });
    const { stdout } = await reply.catch((error) => error);
    return JSON.parse(stdout).findings as readonly Finding[];
  }

  test('on a disk with little room', async () => {
    const { store, database, environment } = elsewhere();
    for (const [folder, variable, used] of [
      [dirname(store), 'STORE_URL', environment],
      [dirname(database), 'DATABASE_URL', environment],
      [directory, 'DATA_DIR', { DATA_DIR: directory }],
    ] as const) {
      const findings = await findingsOnSmallDisk(used, folder);
      const what = new RegExp(`^The disk of ${folder} \\(${variable}\\) has 3\\d MiB`);
      await expectFinding('disk_nearly_full', findings, what);
    }
  });

  test('on a network file system, also behind a symbolic link', async () => {
    const { store, environment } = elsewhere();
    writeFileSync(store, '');
    symlinkSync(store, join(directory, 'link.sqlite'));
    const disk = await statfs(directory);
    const NFS = 0x6969;
    const onNetwork = (folder: string) => async (path: string) =>
      path === folder ? { ...disk, type: NFS } : disk;
    const linked = { ...environment, STORE_URL: `sqlite:${join(directory, 'link.sqlite')}` };
    for (const used of [environment, linked]) {
      const findings = await checkFiles(readInstallation(used), false, onNetwork(dirname(store)));
      await expectFinding('data_on_network_disk', findings, /^\S+stores \(STORE_URL\) is on a net/);
    }
    const embedded = readInstallation({ DATA_DIR: directory });
    const findings = await checkFiles(embedded, false, onNetwork(directory));
    await expectFinding('data_on_network_disk', findings, /\(DATA_DIR\) is on a network file/);
    const local = await checkFiles(readInstallation(environment), false, async () => disk);
    expect(local.map(({ id }) => id)).not.toContain('data_on_network_disk');
  });

  test('that other users can read, with their write-ahead logs', async () => {
    const { store, database, environment } = elsewhere();
    openStoreOf(environment);
    writeFileSync(`${database}-wal`, '');
    chmodSync(store, 0o644);
    chmodSync(`${database}-wal`, 0o666);
    const findings = await doctor(environment);
    const exposed = findings.filter(({ id }) => id === 'file_exposed').map(({ what }) => what);
    expect(exposed).toEqual([
      expect.stringMatching(/^STORE_URL: .* every user .*chmod 600 \S+stores\/file\.sqlite$/),
      expect.stringMatching(
        /^DATABASE_URL: .* read and change .*chmod 600 \S+databases\/file\.sqlite-wal$/,
      ),
    ]);
  });

  test('in DATA_DIR of a device service whose store is elsewhere', async () => {
    const { DATABASE_URL: _, ...environment } = elsewhere().environment;
    const DATA_DIR = join(directory, 'devices');
    mkdirSync(DATA_DIR);
    expect(await checkFiles(readInstallation({ ...environment, DATA_DIR }))).toEqual([]);
    writeFileSync(join(DATA_DIR, 'devices.sqlite'), '', { mode: 0o644 });
    chmodSync(DATA_DIR, 0o700);
    const file = join(DATA_DIR, 'devices.sqlite');
    const findings = await doctor({ ...environment, DATA_DIR });
    await expectFinding('file_exposed', findings, /^DATA_DIR: .* \(mode 0644\)\. Run: chmod 600 /);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    const fixed = await doctor({ ...environment, DATA_DIR }, '--fix');
    await expectFinding(
      'file_exposed',
      fixed,
      /devices\.sqlite \(mode 0644\)\. Its mode is now 0600/,
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('that do not exist are not created', async () => {
    const { store, environment } = elsewhere();
    await expectFinding('store_missing', doctor(environment), /^STORE_URL names a file that does/);
    expect(existsSync(store)).toBe(false);
  });
});

describe('the database', () => {
  async function examineDatabase(settings: Readonly<Record<string, string>>) {
    const postgres = await startPostgresServer({ settings });
    cleanups.push(postgres.stop);
    const DEVICE_SERVICE_PORT = String(await freePort());
    const app = await startApp('device-service', {
      ...bootstrapFile(),
      DATABASE_URL: postgres.url,
      DEVICE_SERVICE_PORT,
    });
    cleanups.push(app.stop);
    return doctor({ ...newStore(), DEVICE_SERVICE_PORT });
  }

  test('PostgreSQL with its default settings has no finding', async () => {
    const findings = await examineDatabase({});
    expect(findings.filter(({ id }) => id.startsWith('database_'))).toEqual([]);
  });

  test('PostgreSQL that can lose writes and be damaged, and has few connections', async () => {
    const findings = await examineDatabase({
      fsync: 'off',
      full_page_writes: 'off',
      synchronous_commit: 'off',
      max_connections: '12',
    });
    await expectFinding('database_can_be_damaged', findings, /with fsync = off\.$/);
    await expectFinding('database_pages_not_protected', findings, /with full_page_writes = off\.$/);
    await expectFinding('database_may_lose_writes', findings, /with synchronous_commit = off\.$/);
    await expectFinding('database_connections_short', findings, /^PostgreSQL has \d of 9 /);
    const { fix = '' } = findings.find(({ id }) => id === 'database_connections_short') ?? {};
    expect(fix).toMatch(/^Raise max_connections of PostgreSQL by at least \d+, and restart it\.$/);
  });

  test('PostgreSQL over a network without TLS', async () => {
    const state = { fsync: 'on', fullPageWrites: 'on', synchronousCommit: 'on' };
    const connections = { limit: 97, open: 20, pool: 10 };
    const documents: Readonly<Record<string, string>> = {
      '/ready': '{"status":"ready"}',
      '/database': JSON.stringify({
        engine: 'postgres',
        version: '17.2',
        time: Date.now(),
        postgres: { ...state, connection: 'unencrypted', connections },
      }),
    };
    const app = await listen(({ url = '' }, response) => response.end(documents[url]));
    const findings = await doctor({ ...newStore(), OPERATIONS_PORT: String(app.port) });
    await expectFinding('database_not_encrypted', findings, /without TLS\.$/);
  });
});

describe('the store', () => {
  beforeEach(() => redis.command('FLUSHALL'));

  test('a store that does not answer', async () => {
    const environment = newStore(`redis://127.0.0.1:${NOTHING_LISTENS}`);
    await expectFinding('store_unavailable', doctor(environment), /./);
  });

  test('Redis without an append-only file and without a limit', async () => {
    const findings = await doctor(newStore(redis.url));
    await expectFinding('store_may_lose_writes', findings, /append-only file/);
    await expectFinding('store_without_limit', findings, /maxmemory/);
  });

  test('a store that is nearly full', async () => {
    const small = await startRedisServer({ arguments: ['--maxmemory', '4mb'] });
    cleanups.push(small.stop);
    for (let filler = 0; filler < 24; filler += 1) {
      await small.command('SET', `filler-${filler}`, 'x'.repeat(100_000));
    }
    await expectFinding(
      'store_nearly_full',
      doctor(newStore(small.url)),
      /\d+ % of its space|no writes/,
    );
  });

  test('an old Redis whose clock is wrong', async () => {
    const changed = await listenInFrontOf(redis.port, (reply) =>
      reply
        .replace(/redis_version:\d/, 'redis_version:6')
        .replace(/server_time_usec:\d/, 'server_time_usec:2'),
    );
    const findings = await doctor(newStore(`redis://127.0.0.1:${changed}`));
    await expectFinding('version_not_supported', findings, /^Redis is version 6\./);
    await expectFinding('clock_differs', findings, /^The clock of Redis is \d+ s ahead of/);
  });

  test('a store that is slow', async () => {
    const network = await startFaultProxy();
    cleanups.push(network.stop);
    network.lead(redis.port);
    network.delay('clients', 10);
    await expectFinding(
      'store_slow',
      doctor(newStore(`redis://127.0.0.1:${network.port}`)),
      /\d+\.\d ms/,
    );
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function newClient(clientId: string) {
  return {
    clientId,
    name: clientId,
    orgId: 'acme',
    signatureAlgorithm: 'SHA-256' as const,
    grantTypes: ['client_credentials'],
    redirectUris: [] as string[],
    postLogoutRedirectUris: [],
    scopes: [],
    applicationType: 'web' as const,
    public: false,
    firstParty: false,
    resourceServer: false,
    ownOrganizationOnly: false,
    corsOrigins: [],
    ipAllowList: [],
  };
}

describe('clients and keys', () => {
  test('weak settings of clients, and old keys', async () => {
    const environment = newStore();
    const { clients, sealer, store } = openStoreOf(
      environment,
      () => Date.now() - 400 * DAY_MILLISECONDS,
    );
    await clients.save({ ...newClient('md5'), signatureAlgorithm: 'MD5' }, generateSecureKey());
    await clients.save({ ...newClient('weak'), grantTypes: ['password'] }, generateSecureKey());
    await clients.save(
      { ...newClient('clear'), redirectUris: ['http://app.example/callback'] },
      generateSecureKey(),
    );
    await clients.save(newClient('two-keys'), generateSecureKey());
    await clients.rotateKey('two-keys', { replaceOldest: false });
    const now = () => Date.now() - 200 * DAY_MILLISECONDS;
    await loadSigningKeys('gateway', 'EdDSA', { store, sealer, now });

    const { audit } = openStoreOf(environment);
    await audit.write(
      { event: 'token_issued', grant: 'password', clientId: 'weak' },
      { actor: 'test' },
    );

    const findings = await doctor(environment);
    await expectFinding('client_unused', findings, /^These clients \(clear, md5, two-keys\)/);
    await expectFinding('client_uses_md5', findings, /\(md5\)/);
    await expectFinding('client_has_weak_grant', findings, /\(weak\)/);
    await expectFinding('redirect_uri_not_https', findings, /\(clear\)/);
    await expectFinding('secure_key_old', findings, /md5, /);
    await expectFinding('client_has_two_keys', findings, /\(two-keys\)/);
    await expectFinding('signing_key_not_rotated', findings, /gateway is 200 days old/);
  });
});

describe('servers as clients see them', () => {
  let certificate: { key: Buffer; cert: Buffer };
  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-doctor-tls-'));
    const { certificateFile, keyFile, authority } = makeCertificate(folder, ['0.0.0.0']);
    certificate = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) };
    setDefaultCACertificates([...getCACertificates('default'), authority]);
    rmSync(folder, { recursive: true });
  });

  let started: { freeze(): void; thaw(): void } | undefined;

  /** A gateway, with `http://0.0.0.0` as its public address. Its peers are loopback addresses. */
  async function startGateway(environment: Readonly<Record<string, string>>) {
    const GATEWAY_PORT = String(await freePort());
    const app: AppProcess = await startApp('gateway', { ...environment, GATEWAY_PORT });
    cleanups.push(app.stop);
    started = {
      freeze: () => process.kill(app.pid, 'SIGSTOP'),
      thaw: () => process.kill(app.pid, 'SIGCONT'),
    };
    return { GATEWAY_PORT, GATEWAY_URL: `http://0.0.0.0:${GATEWAY_PORT}` };
  }
  test('a gateway without TLS, whose operations port is public, behind an unknown proxy', async () => {
    const environment = newStore();
    const gateway = await startGateway({ ...environment, ...bootstrapFile() });
    const findings = await doctor({ ...environment, ...gateway });
    await expectFinding('url_not_https', findings, /^GATEWAY_URL is http:/);
    await expectFinding('operations_public', findings, /metrics answers/);
    await expectFinding('issuer_differs', findings, /address http:\/\/localhost:/);
    await expectFinding('proxy_not_trusted', findings, /sees the address 127\.0\.0\.1/);
    await expectFinding('explorer_public', findings, /serves the API explorer at \/explorer\.$/);
    // Forward auth is off.
    expect(findings.map(({ id }) => id)).not.toContain('verification_public');
  });

  test('a gateway that trusts every caller', async () => {
    const environment = newStore();
    const gateway = await startGateway({
      ...environment,
      ...bootstrapFile(),
      TRUSTED_PROXIES: '127.0.0.1',
      FORWARD_AUTH: 'true',
    });
    const findings = await doctor({ ...environment, ...gateway });
    await expectFinding('forged_address_accepted', findings, /believes the X-Forwarded-For/);
    await expectFinding('verification_public', findings, / answers \/_verify with 400\.$/);
  });

  test('a gateway with another store, and the demo', async () => {
    const environment = newStore();
    const gateway = await startGateway({ DATA_DIR: join(directory, 'other') });
    const findings = await doctor({ ...environment, ...gateway });
    await expectFinding('server_uses_other_store', findings, /request log/);
    const ofDemo = await doctor({ ...gateway, DATA_DIR: join(directory, 'other') });
    await expectFinding('demo_in_production', ofDemo, /demo client/);
  });

  test('a gateway that is not ready', async () => {
    const gateway = await startGateway({
      ...newStore(`redis://127.0.0.1:${NOTHING_LISTENS}`),
      ...bootstrapFile(),
    });
    const { GATEWAY_PORT } = gateway;
    await expectFinding('app_not_ready', doctor({ ...newStore(), GATEWAY_PORT }), /store is /);
  });

  test('a frozen server, and a program at the operations port that prints control characters', async () => {
    const environment = newStore();
    const { GATEWAY_PORT } = await startGateway({ ...environment, ...bootstrapFile() });
    started?.freeze();
    try {
      const findings = await doctor({ ...environment, GATEWAY_PORT });
      await expectFinding('app_not_ready', findings, /does not answer/);
    } finally {
      started?.thaw();
    }

    const hostile = await listen((_request, response) =>
      response
        .writeHead(503)
        .end(JSON.stringify({ checks: { store: '\u001b[2J\nERROR  run: curl evil' } })),
    );
    const findings = await doctor({ ...environment, OPERATIONS_PORT: String(hostile.port) });
    await expectFinding('app_not_ready', findings, /store is \?\[2J\?ERROR/);
  });

  test('apps of another version, with an old database whose clock is wrong', async () => {
    const documents: Readonly<Record<string, string>> = {
      '/ready': '{"status":"ready"}',
      '/metrics': 'gatehouse_build_info{app="device-service",version="0.0.1",node="24.0.0"} 1\n',
      '/database': JSON.stringify({
        engine: 'postgres',
        version: '12.4 (Debian)',
        time: Date.now() - 90_000,
      }),
    };
    const app = await listen(({ url = '' }, response) => response.end(documents[url]));
    const findings = await doctor({ ...newStore(), OPERATIONS_PORT: String(app.port) });
    await expectFinding('versions_differ', findings, /is version 0\.0\.1, this command /);
    await expectFinding('version_not_supported', findings, /^PostgreSQL is version 12\.4\.$/);
    await expectFinding('clock_differs', findings, /^The clock of PostgreSQL is 90 s behind/);
  });

  test('a server whose reply does not show the address that it sees', async () => {
    const proxy = await listen((_request, response) => response.writeHead(403).end());
    await expectFinding(
      'forwarding_not_checked',
      doctor({ ...newStore(), GATEWAY_URL: proxy.url }),
      /answers \/api\/device with 403/,
    );
  });

  test('a gateway behind a proxy that sees the address of this machine', async () => {
    const environment = newStore();
    const { GATEWAY_URL: url } = await startGateway({ ...environment, ...bootstrapFile() });
    const { requestLog } = openStoreOf(environment);
    const server = { name: 'gateway', variable: 'GATEWAY_URL', url } as const;
    expect(await checkForwarding(server, requestLog, ['127.0.0.1'])).toEqual([]);
    expect(await checkForwarding(server, requestLog, ['10.9.8.7'])).toHaveLength(1);
  });

  test('a proxy whose gateway is stopped', async () => {
    const proxy = await listen((_request, response) => response.writeHead(502).end());
    const findings = await doctor({ ...newStore(), GATEWAY_URL: proxy.url });
    await expectFinding(
      'url_unreachable',
      findings,
      /with 502: the gateway is stopped or not ready/,
    );
    expect(findings.map(({ id }) => id)).not.toContain('url_of_another_service');
  });

  test('a proxy that redirects, or serves something else', async () => {
    const moved = await listen((_request, response) =>
      response.writeHead(302, { Location: 'https://new.example/?code=secret' }).end(),
    );
    const other = await listen((_request, response) => response.end('<h1>It works</h1>'));
    const findings = await doctor({
      ...newStore(),
      AUTHORIZATION_SERVER_URL: moved.url,
      GATEWAY_URL: other.url,
    });
    await expectFinding('url_redirects', findings, /redirects to https:\/\/new\.example\/\.$/);
    await expectFinding('url_of_another_service', findings, /answers with 200/);
    await expectFinding('headers_removed', findings, /X-Request-Id/);
    expect(JSON.stringify(findings)).not.toContain('secret');
  });

  test.each([
    ['blocks /_verify and every path below it', /^\/_verify/, []],
    ['blocks only /_verify itself', /^\/_verify$/, ['/_verify/doctor with 400']],
    ['blocks nothing', /^$/, ['/_verify with 400', '/_verify/doctor with 400']],
  ] as const)('a public gateway behind a proxy that %s', async (_name, blocked, answers) => {
    // The status of the gateway for requests without a credential, with forward auth.
    const ofGateway = (url: string) => (url.startsWith('/_verify') ? 400 : 401);
    const proxy = await listen(({ url = '' }, response) =>
      response.writeHead(blocked.test(url) ? 404 : ofGateway(url)).end(),
    );
    const findings = await checkPublicServer({
      name: 'gateway',
      variable: 'GATEWAY_URL',
      url: proxy.url,
    });
    expect(
      findings.filter(({ id }) => id === 'verification_public').map(({ what }) => what),
    ).toEqual(answers.map((answer) => `GATEWAY_URL ${proxy.url} answers ${answer}.`));
  });

  test('--addresses needs no store, and --fail decides the exit code', async () => {
    const options = { ...bootstrapFile(), EXPLORER: 'false' };
    const gateway = await startGateway({ ...newStore(), ...options });
    const environment = { ...offline, ...gateway, DATA_DIR: join(directory, 'none') };
    const run = (...options: string[]) =>
      runGatehouse(environment, ['doctor', '--addresses', ...options]);
    const { code, output } = await run();
    expect(output).toContain('(operations_public)');
    expect(output).not.toContain('store_missing');
    expect(output).toMatch(/\n\n2 errors, 0 warnings, 1 notice\.\n$/);
    expect(code).toBe(1);
    expect((await run('--fail', 'never')).code).toBe(2);
  });

  test('a TLS proxy with an old certificate, no HSTS, a wrong clock and an open port 80', async () => {
    const proxy = await listen((_request, response) => {
      response.setHeader('Date', new Date(Date.now() - 60_000).toUTCString());
      response.end('{}');
    }, certificate);
    const plain = await listen((request, response) =>
      response.writeHead(308, { Location: proxy.url + request.url }).end(),
    );
    const { url } = proxy;
    const findings = await checkPublicServer(
      { name: 'gateway', variable: 'GATEWAY_URL', url },
      plain.port,
    );
    await expectFinding('certificate_expires_soon', findings, /expires in 1 days/);
    await expectFinding('hsts_missing', findings, /Strict-Transport-Security/);
    await expectFinding('clock_differs', findings, /is (?:59|60|61) s behind the clock of this/);
    await expectFinding('redirect_keeps_token', findings, /redirects to https with the query/);
  });
});

test('every finding was provoked', () => {
  expect([...provoked].sort()).toEqual(Object.keys(findingCatalogue).sort());
});
