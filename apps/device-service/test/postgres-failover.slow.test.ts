// requires: postgresql
// runs alone: it has deadlines of seconds under load
/**
 * The service keeps running while PostgreSQL restarts, fails over, stops answering or rejects
 * writes.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type PostgresServer, parseMetrics, startPostgresServer, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { openDatabase } from '../src/database/open-database.ts';
import { locationOf } from './database-engines.ts';
import { camera } from './device-client.ts';
import { startServiceSuite } from './device-suite.ts';
import { readAll, startWriteLoad } from './write-load.ts';

const { start, stops } = await startServiceSuite();
type Service = Awaited<ReturnType<typeof start>>;
const startService = (DATABASE_URL: string) => start({ DATABASE_URL });

async function startPostgres(standbyOf?: PostgresServer): Promise<PostgresServer> {
  const server = await startPostgresServer(standbyOf === undefined ? {} : { standbyOf });
  stops.push(server.stop);
  return server;
}

async function configure(server: PostgresServer, setting: string): Promise<void> {
  await server.sql(`alter system ${setting}`);
  await server.sql('select pg_reload_conf()');
}

/** Commits on the primary wait for the standby, so that a failover loses nothing. */
async function startPair(): Promise<readonly [PostgresServer, PostgresServer]> {
  const primary = await startPostgres();
  const standby = await startPostgres(primary);
  await configure(primary, "set synchronous_standby_names = '*'");
  const state = 'select sync_state from pg_stat_replication';
  await until(async () => (await primary.sql(state)) === 'sync');
  return [primary, standby];
}

function urlOf(servers: readonly { readonly port: number }[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return `postgres://postgres@${hosts}/gatehouse?target_session_attrs=read-write`;
}

async function readiness({ operationsUrl }: Service) {
  const reply = await fetch(`${operationsUrl}/ready`);
  const { checks } = (await reply.json()) as { checks: Record<string, string> };
  return { status: reply.status, checks };
}
const untilReady = (service: Service) =>
  until(async () => (await readiness(service)).status === 200);

async function metric({ operationsUrl }: Service, name: string) {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  return parseMetrics(text).get(name)?.samples[0]?.value;
}

describe('under load', () => {
  /** Lets PostgreSQL fail and recover, and expects that no acknowledged write is lost. */
  async function expectNothingLost(
    service: Service,
    fail: () => unknown,
    recover: () => Promise<unknown>,
  ): Promise<void> {
    const load = startWriteLoad(service.client);
    await load.untilMore(100);
    await fail();
    await until(() => load.refusals.size > 0);
    await recover();
    await load.untilMore(100);
    await load.stop();
    expect([...load.refusals]).toEqual(['503, service_unavailable, 1']);
    const { ids } = await readAll(service.client);
    expect(load.acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    await untilReady(service);
  }

  test.each(['kill', 'shutDown'] as const)(
    'a restart of PostgreSQL by %s loses no acknowledged write, and needs no restart of the service',
    async (how) => {
      const postgres = await startPostgres();
      const service = await startService(postgres.url);
      await expectNothingLost(
        service,
        () => postgres[how](),
        () => postgres.restart(),
      );
    },
  );

  test.each(['kill', 'freeze'] as const)(
    'a failover after a %s of the first server of the URL loses no acknowledged write',
    async (how) => {
      const [primary, standby] = await startPair();
      const service = await startService(urlOf([primary, standby]));
      await expectNothingLost(
        service,
        () => primary[how](),
        () => standby.promote(),
      );
      primary.thaw();
    },
  );
});

test('a failover happens on open connections when the first server becomes read-only', async () => {
  const [primary, standby] = await startPair();
  const service = await startService(urlOf([primary, standby]));
  const { client } = service;
  const warm = Array.from({ length: 20 }, (_, i) => client.create({ id: `d-${i}`, ...camera }));
  await Promise.all(warm);
  await standby.promote();
  await configure(primary, 'set default_transaction_read_only = on');
  await until(async () => (await primary.sql('show transaction_read_only')) === 'on');

  expect((await client.create({ id: 'refused', ...camera })).status).toBe(503);
  expect((await client.create({ id: 'accepted', ...camera })).status).toBe(200);
  expect(await standby.sql("select count(*) from devices where id = 'accepted'")).toBe('1');
  await untilReady(service);
});

test('a service whose first server is a standby starts on the second', async () => {
  const [primary, standby] = await startPair();
  const service = await startService(urlOf([standby, primary]));
  expect((await service.client.create({ id: 'written', ...camera })).status).toBe(200);
  expect((await readiness(service)).status).toBe(200);
});

/** A proxy that can drop connections without an event, like a firewall. New connections work. */
async function startSilentProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
      socket.on('data', (chunk) => other.write(chunk));
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  stops.push(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    silence() {
      for (const socket of sockets) {
        socket.removeAllListeners('data').on('data', () => undefined);
      }
    },
  };
}

test('idle connections that a firewall dropped fail only one request', async () => {
  const proxy = await startSilentProxy((await startPostgres()).port);
  const { client } = await startService(`postgres://postgres@127.0.0.1:${proxy.port}/gatehouse`);
  const warm = Array.from({ length: 10 }, (_, i) => client.create({ id: `d${i}`, ...camera }));
  expect((await Promise.all(warm)).every(({ status }) => status === 200)).toBe(true);

  proxy.silence();
  expect((await client.create({ id: 'first', ...camera })).status).toBe(503);
  expect((await client.create({ id: 'second', ...camera })).status).toBe(200);
  expect((await client.detail('d0')).status).toBe(200);
});

test('a PostgreSQL that does not answer leads to a 503, and delays a start only', async () => {
  const postgres = await startPostgres();
  const { client } = await startService(postgres.url);
  await client.create({ id: 'kept', ...camera });
  postgres.freeze();
  const opening = openDatabase(locationOf(postgres.url));
  expect((await client.detail('kept')).status).toBe(503);
  postgres.thaw();

  const database = await opening;
  await database.ping();
  await database.close();
  expect((await client.detail('kept')).status).toBe(200);
});

test('with a read-only database, the service stays ready, serves reads and recovers', async () => {
  const postgres = await startPostgres();
  const service = await startService(postgres.url);
  const { client } = service;
  const untilWrites = (state: string) =>
    until(async () => (await readiness(service)).checks['database-writes'] === state);
  await client.create({ id: 'kept', ...camera });
  expect(await metric(service, 'gatehouse_database_writable')).toBe(1);
  await configure(postgres, 'set default_transaction_read_only = on');
  await untilWrites('unavailable');

  expect(await readiness(service)).toMatchObject({ status: 200, checks: { database: 'ok' } });
  expect(await metric(service, 'gatehouse_database_writable')).toBe(0);
  expect(await metric(service, 'gatehouse_database_up')).toBe(1);
  expect((await client.create({ id: 'refused', ...camera })).status).toBe(503);
  expect((await client.detail('kept')).status).toBe(200);

  await postgres.sql('set transaction_read_only = off; alter system reset all');
  await postgres.sql('select pg_reload_conf()');
  await untilWrites('ok');
  expect(await metric(service, 'gatehouse_database_writable')).toBe(1);
  expect((await client.create({ id: 'accepted', ...camera })).status).toBe(200);
});
