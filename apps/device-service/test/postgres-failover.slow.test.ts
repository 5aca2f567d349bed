// requires: postgresql
// runs alone: it has deadlines of seconds under load
/**
 * The service keeps running while PostgreSQL restarts, fails over, stops answering or rejects
 * writes.
 */
import { type PostgresServer, parseMetrics, startPostgresServer, until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { camera, createDeviceClient, type DeviceClient } from './device-client.ts';
import { type GatewayDouble, startGatewayDouble } from './gateway-double.ts';
import { readAll } from './kill-rounds.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { startSilentProxy } from './silent-proxy.ts';
import { startWriteLoad, type WriteLoad } from './write-load.ts';

const UNAVAILABLE = '503, service_unavailable, 1';
/** Time limits: a statement 6 s, a connection 2 s for each of two servers, the gateway 15 s. */
const SLOWEST_MILLISECONDS = 13_000;

let gateway: GatewayDouble;
let stops: (() => Promise<unknown>)[];
let service: ServiceProcess;
let client: DeviceClient;

beforeEach(async () => {
  stops = [];
  gateway = await startGatewayDouble();
});

afterEach(async () => {
  for (const stop of stops.reverse()) {
    await stop();
  }
  await gateway.stop();
});

async function startPostgres(standbyOf?: PostgresServer): Promise<PostgresServer> {
  const server = await startPostgresServer(standbyOf === undefined ? {} : { standbyOf });
  stops.push(server.stop);
  return server;
}

/** Commits on the primary wait for the standby, so that a failover loses nothing. */
async function startPair(): Promise<readonly [PostgresServer, PostgresServer]> {
  const primary = await startPostgres();
  const standby = await startPostgres(primary);
  await primary.sql("alter system set synchronous_standby_names = '*'");
  await primary.sql('select pg_reload_conf()');
  await until(async () => {
    const states = await primary.sql('select sync_state from pg_stat_replication');
    return states === 'sync';
  });
  return [primary, standby];
}

async function startService(databaseUrl: string): Promise<void> {
  service = await startServiceProcess({
    DATABASE_URL: databaseUrl,
    GATEWAY_URL: gateway.issuer,
    GATEWAY_JWKS_URL: gateway.jwksUrl,
  });
  const started = service;
  stops.push(() => started.end('SIGTERM'));
  client = createDeviceClient({ url: service.url, gateway });
}

function urlOf(servers: readonly { readonly port: number }[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return `postgres://postgres@${hosts}/gatehouse?target_session_attrs=read-write`;
}

async function readiness() {
  const reply = await fetch(`${service.operationsUrl}/ready`);
  const { checks } = (await reply.json()) as { checks: Record<string, string> };
  return { status: reply.status, checks };
}

async function metric(name: string) {
  const text = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  return parseMetrics(text).get(name)?.samples[0]?.value;
}

async function expectNothingLost(load: WriteLoad): Promise<void> {
  expect([...load.refusals]).toEqual([UNAVAILABLE]);
  expect(load.slowestMilliseconds()).toBeLessThan(SLOWEST_MILLISECONDS);
  const { ids } = await readAll(client, 'org-1');
  expect(load.acknowledged.filter((id) => !ids.has(id))).toEqual([]);
}

describe('a restart of PostgreSQL under load', () => {
  test.each(['kill', 'shutDown'] as const)(
    'by %s loses no acknowledged write, is 503 with Retry-After, and needs no restart of the service',
    async (how) => {
      const postgres = await startPostgres();
      await startService(postgres.url);
      const load = startWriteLoad(client);
      await load.untilMore(100);
      await postgres[how]();
      await until(async () => load.refusals.size > 0);
      await postgres.restart();
      const restartedAt = performance.now();
      await load.untilMore(100);
      expect(performance.now() - restartedAt).toBeLessThan(5000);
      await load.stop();

      await expectNothingLost(load);
      await until(async () => (await readiness()).status === 200);
    },
  );
});

describe('a failover to the second server of the URL', () => {
  test.each(['kill', 'freeze'] as const)(
    'after a %s of the first loses no acknowledged write, under load',
    async (how) => {
      const [primary, standby] = await startPair();
      await startService(urlOf([primary, standby]));
      const load = startWriteLoad(client);
      await load.untilMore(100);
      await primary[how]();
      await until(async () => load.refusals.size > 0);
      await standby.promote();
      const promotedAt = performance.now();
      await load.untilMore(100);
      expect(performance.now() - promotedAt).toBeLessThan(SLOWEST_MILLISECONDS);
      await load.stop();

      await expectNothingLost(load);
      expect((await readiness()).status).toBe(200);
      primary.thaw();
    },
  );

  test('happens on open connections when the first server becomes read-only', async () => {
    const [primary, standby] = await startPair();
    await startService(urlOf([primary, standby]));
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.create({ id: `before-${i}`, ...camera })),
    );
    await standby.promote();
    await primary.sql('alter system set default_transaction_read_only = on');
    await primary.sql('select pg_reload_conf()');
    await until(async () => (await primary.sql('show transaction_read_only')) === 'on');

    const first = await client.create({ id: 'refused', ...camera });
    const second = await client.create({ id: 'accepted', ...camera });
    expect([first.status, second.status]).toEqual([503, 200]);
    expect(await standby.sql("select count(*) from devices where id = 'accepted'")).toBe('1');
    await until(async () => (await readiness()).status === 200);
  });

  test('is not necessary if the first server is a standby: the service starts on the second', async () => {
    const [primary, standby] = await startPair();
    await startService(urlOf([standby, primary]));

    expect((await client.create({ id: 'written', ...camera })).status).toBe(200);
    expect((await readiness()).status).toBe(200);
  });
});

test('idle connections that a firewall dropped fail only one request', async () => {
  const postgres = await startPostgres();
  const proxy = await startSilentProxy(postgres.port);
  stops.push(proxy.stop);
  await startService(`postgres://postgres@127.0.0.1:${proxy.port}/gatehouse`);
  const warm = Array.from({ length: 10 }, (_, i) => client.create({ id: `d${i}`, ...camera }));
  expect((await Promise.all(warm)).every(({ status }) => status === 200)).toBe(true);

  proxy.silence();
  const startedAt = performance.now();
  const first = await client.create({ id: 'first', ...camera });
  expect(first.status).toBe(503);
  expect(performance.now() - startedAt).toBeLessThan(SLOWEST_MILLISECONDS);
  expect((await client.create({ id: 'second', ...camera })).status).toBe(200);
  expect((await client.detail('d0')).status).toBe(200);
});

test('with a read-only database, the service stays ready, serves reads and recovers', async () => {
  const postgres = await startPostgres();
  await startService(postgres.url);
  await client.create({ id: 'kept', ...camera });
  expect(await metric('gatehouse_database_writable')).toBe(1);
  await postgres.sql('alter system set default_transaction_read_only = on');
  await postgres.sql('select pg_reload_conf()');
  await until(async () => (await readiness()).checks['database-writes'] === 'unavailable');

  expect(await readiness()).toMatchObject({ status: 200, checks: { database: 'ok' } });
  expect(await metric('gatehouse_database_writable')).toBe(0);
  expect(await metric('gatehouse_database_up')).toBe(1);
  expect((await client.create({ id: 'refused', ...camera })).status).toBe(503);
  expect((await client.detail('kept')).status).toBe(200);

  await postgres.sql('set transaction_read_only = off; alter system reset all');
  await postgres.sql('select pg_reload_conf()');
  await until(async () => (await readiness()).checks['database-writes'] === 'ok');
  expect(await metric('gatehouse_database_writable')).toBe(1);
  expect((await client.create({ id: 'accepted', ...camera })).status).toBe(200);
});
