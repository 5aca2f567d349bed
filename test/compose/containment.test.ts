/** What containers, networks and secrets of a tier cannot be used for. */
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { startTierInUse } from './clients.ts';
import { probeScript } from './probe.ts';
import { type Container, docker, serviceOf } from './tier.ts';

jest.setTimeout(180_000);

const run = promisify(execFile);
const apps = ['authorization-server', 'gateway', 'device-service'] as const;
const services = [...apps, 'nginx', 'redis', 'postgres'] as const;

const { tier, users, newToken } = await startTierInUse({ environment: { LOG_LEVEL: 'debug' } });
const containers = new Map((await tier.containers()).map((each) => [serviceOf(each), each]));

describe('every container', () => {
  test.each([...services, 'secrets'])('%s runs without privileges and within limits', (service) => {
    const { HostConfig: host, Config } = containers.get(service) as Container;
    expect(host).toMatchObject({
      Privileged: false,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      CapAdd: null,
      SecurityOpt: ['no-new-privileges:true'],
      Init: true,
      NanoCpus: expect.any(Number),
      Ulimits: expect.arrayContaining([{ Name: 'core', Hard: 0, Soft: 0 }]),
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      RestartPolicy: { Name: service === 'secrets' ? 'no' : 'unless-stopped' },
    });
    for (const limit of ['Memory', 'NanoCpus', 'PidsLimit']) {
      expect(host[limit]).toBeGreaterThan(0);
    }
    expect(Config.User).toMatch(/^(1000:1000|nginx|redis|postgres)$/);
    expect(service === 'secrets' || (Config.StopTimeout ?? 0) > 10).toBe(true);
  });

  test.each(services)(
    '%s has no process with a capability, as root, or with a shell around it',
    async (service) => {
      const script =
        'cat /proc/[0-9]*/status; for p in /proc/[0-9]*; do tr "\\0" " " <$p/cmdline; echo; done';
      const text = await tier.exec(service, 'sh', '-c', script);
      expect(text).toMatch(/^CapEff:/m);
      expect(text.match(/^(CapEff|CapBnd|CapAmb):\s+(?!0{16}$).*$/gm)).toBeNull();
      expect(text.match(/^Uid:\s+0\b.*$/gm)).toBeNull();
      expect(text.match(/^NoNewPrivs:\s+0$/gm)).toBeNull();
      const lines = text
        .split('\n')
        .filter((line) => /^\S*\b(sh|bash)\b .*(main\.ts|redis-server|nginx)/.test(line));
      expect(lines.filter((line) => !line.includes('/proc/'))).toEqual([]);
    },
  );

  test.each(apps)('%s cannot write to its file system', async (service) => {
    const attempt = tier.node(service, "require('fs').writeFileSync('/app/x', 'x')");
    await expect(attempt).rejects.toThrow(/EROFS/);
  });
});

describe('the networks', () => {
  const places = {
    redis: 6379,
    postgres: 5432,
    'device-service': 8850,
    gateway: 8844,
    'authorization-server': 9000,
    nginx: 9000,
  } as const;

  /** The allowed connections. Containers must not be able to find any other service. */
  test.each([
    ['authorization-server', ['redis']],
    ['gateway', ['redis', 'device-service']],
    ['device-service', ['postgres', 'device-service']],
  ])('let %s reach %j and nothing else', async (service, reachable) => {
    const addresses = await addressesOf(Object.keys(places));
    const targets = Object.entries(places).flatMap(([name, port]) =>
      [name, ...(addresses.get(name) ?? [])].map((host) => ({ name, host, port })),
    );
    const script = probeScript(targets.map(({ host, port }) => [host, port]));
    const found: [string, number][] = JSON.parse(await tier.node(service, script));
    const reached = found.map(([host]) => targets.find((each) => each.host === host)?.name);
    expect([...new Set(reached)].sort()).toEqual([...reachable].sort());
  });

  test.each(apps)('let %s reach nothing outside', async (service) => {
    const script = `require('net').connect({ host: '192.0.2.1', port: 443, timeout: 2000 })
      .on('connect', () => console.log('out')).on('timeout', function () { this.destroy(); console.log('no reply'); })
      .on('error', (e) => console.log(e.code));`;
    expect((await tier.node(service, script)).trim()).toBe('ENETUNREACH');
  });

  /** Every port of the tier, at every address and name of the private containers. */
  async function privatePlaces(): Promise<readonly (readonly [string, number])[]> {
    const names = [...apps, 'redis', 'postgres'];
    const hosts = [...(await addressesOf(names)).values()].flat();
    expect(hosts.length).toBeGreaterThan(6);
    const ports = [6379, 5432, 8850, 8950, 8844, 8944, 9000, 9100];
    return [...hosts, ...names].flatMap((host) => ports.map((port) => [host, port] as const));
  }

  test('let a container next to the public ports reach no private port', async () => {
    const script = probeScript(await privatePlaces());
    const place = ['--network', `${tier.project}_edge`];
    const reached = await docker('run', '--rm', ...place, 'gatehouse:test', '-e', script);
    expect(JSON.parse(reached)).toEqual([]);
  });

  test('let the host reach no private port, by any address', async () => {
    const [nginx = ''] = (await addressesOf(['nginx'])).get('nginx') ?? [];
    // The same search finds a port that is reachable.
    const places = [...(await privatePlaces()), [nginx, 9000] as const];
    const { stdout } = await run(process.execPath, ['-e', probeScript(places)]);
    expect(JSON.parse(stdout)).toEqual([[nginx, 9000]]);
  });

  test.each([
    ['nginx', { '/run/authorization-servers': false, '/run/gateways': false }],
    ['authorization-server', { '/run/gatehouse': true }],
    ['gateway', { '/run/gatehouse': true }],
    ['device-service', {}],
  ])('have sockets that only the right app can listen on: %s', (service, wanted) => {
    const mounts = containers.get(service)?.Mounts ?? [];
    const ofSockets = mounts.filter(({ Name = '' }) => Name.endsWith('-sockets'));
    expect(Object.fromEntries(ofSockets.map((each) => [each.Destination, each.RW]))).toEqual(
      wanted,
    );
    expect(
      ofSockets.every(({ Name = '' }) => service === 'nginx' || Name.includes(`_${service}-`)),
    ).toBe(true);
  });

  async function addressesOf(names: readonly string[]): Promise<ReadonlyMap<string, string[]>> {
    const inspected = await tier.containers();
    return new Map(
      names.map((name) => {
        const found = inspected.find((each) => serviceOf(each) === name);
        const networks = Object.values(found?.NetworkSettings.Networks ?? {});
        return [name, networks.map(({ IPAddress }) => IPAddress).filter(Boolean)];
      }),
    );
  }
});

describe('a secret', () => {
  const secrets = new Map<string, string>();

  /** Every secret in every volume: the files, and the passwords in their URLs. */
  async function generatedSecrets(): Promise<readonly [string, string][]> {
    const script = `const fs = require('fs'), path = require('path');
      console.log(JSON.stringify(fs.readdirSync('/secrets', { recursive: true })
        .filter((f) => fs.statSync(path.join('/secrets', f)).isFile())
        .map((f) => [f, fs.readFileSync(path.join('/secrets', f), 'utf8').trim()])));`;
    const output = await tier.runOnce('--entrypoint', 'node', 'secrets', '-e', script);
    const files = JSON.parse(output) as [string, string][];
    expect(files.map(([name]) => name).sort()).toEqual([
      ...['database/database-url', 'operator/redis-password', 'postgres/role-verifier'],
      ...['redis/users.acl', 'store/master.key', 'store/store-url'],
    ]);
    const passwords = files
      .filter(([name]) => name.endsWith('-url'))
      .map(([name, url]): [string, string] => [`password in ${name}`, new URL(url).password]);
    // The file of Redis contains digests, which must not leak either.
    const whole = files.flatMap(([name, text]): [string, string][] => {
      const digests = text.match(/(?<=#)\w{64}/g) ?? [text];
      return digests.map((each, index) => [index === 0 ? name : `${name}, ${index}`, each]);
    });
    return [...whole, ...passwords];
  }

  /** Sends a malformed request line, which nginx rejects itself. */
  async function sendMalformed(url: string): Promise<void> {
    const { hostname, port, pathname, search } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.end(`GET ${pathname}${search} one HTTP/1.1 two\r\nHost: x\r\n\r\n`);
    expect(String(Buffer.concat(await socket.toArray()))).toMatch(/^HTTP\/1.1 400 /);
  }

  function found(text: string): readonly string[] {
    return [...secrets].filter(([, value]) => text.includes(value)).map(([name]) => name);
  }

  beforeAll(async () => {
    const accessToken = await newToken();
    const url = `${tier.gatewayUrl}/api/device?access_token=${accessToken}`;
    expect((await fetch(url)).status).toBe(200);
    // Failures are logged in detail, but without secrets.
    await tier.compose('stop', 'device-service', 'redis');
    await fetch(url);
    await newToken();
    await tier.compose('stop', 'gateway');
    await fetch(url);
    await sendMalformed(url);
    await tier.up();
    for (const [name, value] of [
      ...(await generatedSecrets()),
      ['secureKey', users.web.secureKey] as const,
      ['password of a person', users.alice.password] as const,
      ['access token', accessToken] as const,
    ]) {
      secrets.set(name, value);
    }
  });

  test('is long, random and listed in this test', () => {
    expect(secrets.size).toBe(13);
    expect(Math.min(...[...secrets.values()].map(({ length }) => length))).toBeGreaterThan(19);
  });

  test('is not in docker inspect of containers, image, volumes or networks', async () => {
    const text = [
      JSON.stringify(await tier.containers()),
      await docker('image', 'inspect', 'gatehouse:test'),
      await docker('volume', 'inspect', `${tier.project}_secrets-store`),
      await docker('volume', 'inspect', `${tier.project}_secrets-redis`),
      await docker('network', 'inspect', `${tier.project}_store`, `${tier.project}_database`),
      await tier.compose('config'),
    ].join('\n');
    expect(text).toContain('/secrets/store/master.key');
    expect(found(text)).toEqual([]);
  });

  test('is not in the environment of any process', async () => {
    for (const service of services) {
      // A health check may end during the search, so unreadable entries are skipped.
      const script = 'cat /proc/[0-9]*/environ 2>/dev/null; true';
      const text = await tier.exec(service, 'sh', '-c', script);
      // The processes are the app and the two that search. init hides its environment. Other
      // servers overwrite part of theirs with their title.
      const isOurs = (apps as readonly string[]).includes(service);
      expect(text.split('PATH=').length).toBeGreaterThan(isOurs ? 3 : 2);
      expect(found(text)).toEqual([]);
    }
  });

  test('is not in any log', async () => {
    const log = await tier.compose('logs', '--no-color');
    expect(log).toContain('"operation":"device.list"');
    expect(found(log)).toEqual([]);
  });

  test.each([
    ['authorization-server', ['/secrets/cookies', '/secrets/store']],
    ['gateway', ['/secrets/store']],
    ['device-service', ['/secrets/database']],
    ['redis', ['/run/gatehouse']],
    ['postgres', ['/run/gatehouse']],
    ['nginx', []],
  ])('is mounted, read-only, where it is needed: %s', (service, wanted) => {
    const mounts = containers.get(service)?.Mounts ?? [];
    const ofSecrets = mounts.filter(({ Name = '' }) => Name.includes('_secrets-'));
    expect(ofSecrets.map(({ Destination }) => Destination).sort()).toEqual(wanted);
    expect(ofSecrets.every(({ RW }) => !RW)).toBe(true);
  });

  test('is a file that only the user of the apps can read', async () => {
    const script =
      "console.log(require('fs').statSync('/secrets/store/master.key').mode.toString(8))";
    expect((await tier.node('gateway', script)).trim()).toBe('100400');
  });

  /** test/container-redis.test.ts has the other users. */
  test('of Redis allows only the commands of the store', async () => {
    const { password } = new URL(secrets.get('store/store-url') ?? '');
    const login = ['--user', 'gatehouse', '--pass', password, '--no-auth-warning'];
    const attempt = (...words: readonly string[]) =>
      tier.exec('redis', 'redis-cli', ...login, ...words).catch(String);
    for (const command of [['FLUSHALL'], ['CONFIG', 'GET', '*'], ['KEYS', '*']]) {
      expect(await attempt(...command)).toMatch(/NOPERM/);
    }
    expect(await attempt('INFO', 'memory')).toMatch(/maxmemory_policy:noeviction/);
    expect(await attempt('INFO', 'persistence')).toMatch(/aof_enabled:1/);
  });

  test('of PostgreSQL opens one database as an unprivileged role, and the superuser has no password', async () => {
    const query = (database: string, sql: string) =>
      tier.exec('postgres', 'psql', '-XAtq', '-U', 'postgres', '-d', database, '-c', sql);
    const roles =
      'select rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls';
    expect(
      await query('devices', `${roles} from pg_roles where rolname = 'gatehouse_devices'`),
    ).toBe('gatehouse_devices|f|f|f|f|f\n');
    const passwords =
      'select rolname, rolpassword is null, left(rolpassword, 14) from pg_authid where rolcanlogin order by 1';
    expect(await query('devices', passwords)).toBe(
      'gatehouse_devices|f|SCRAM-SHA-256$\npostgres|t|\n',
    );
    const owner = "select distinct tableowner from pg_tables where schemaname = 'public'";
    expect(await query('devices', owner)).toBe('gatehouse_devices\n');
    const connects = "select has_database_privilege('gatehouse_devices', 'postgres', 'connect')";
    expect(await query('postgres', connects)).toBe('f\n');
  });
});
