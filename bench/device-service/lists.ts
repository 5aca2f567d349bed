/**
 * Measures how list requests slow down with the number of devices. It sends the same requests
 * alternately to two services on one PostgreSQL server, one with 1,000 devices and one with
 * 1,000,000. Other load on the machine affects both.
 *
 *   node bench/device-service/lists.ts [devices=1000000] [requests=3000] [log records of a device=2]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgresServer } from '@gatehouse/testing';
import {
  createDeviceClient,
  type DeviceClient,
} from '../../apps/device-service/test/device-client.ts';
import { startGatewayDouble } from '../../apps/device-service/test/gateway-double.ts';
import { startServiceProcess } from '../../apps/device-service/test/service-process.ts';
import { percentile } from '../machinery/percentile.ts';
import { BUSY_EVERY, generate, PRODUCTS } from './generate.ts';
import { milliseconds, print, timed } from './printing.ts';

const SMALL = 1000;
const LARGE = Number(process.argv[2] ?? 1_000_000);
const REQUESTS = Number(process.argv[3] ?? 3000);
const RECORDS_EACH = Number(process.argv[4] ?? 2);
const WARM_UP = 300;
const ORGANIZATION = 'bench';

const directory = mkdtempSync(join(tmpdir(), 'device-bench-'));
const gateway = await startGatewayDouble();
const postgres = await startPostgresServer({
  settings: { shared_buffers: '4GB', max_wal_size: '8GB', effective_cache_size: '12GB' },
});

const sides = [
  { name: 'small', devices: SMALL },
  { name: 'large', devices: LARGE },
];
const services = [];
for (const { name, devices } of sides) {
  const service = await startServiceProcess({
    DATA_DIR: directory,
    DATABASE_URL: await postgres.createDatabase(name),
    GATEWAY_URL: gateway.issuer,
    GATEWAY_JWKS_URL: gateway.jwksUrl,
    LOG_RETENTION_DAYS: '3650',
  });
  const seconds =
    (await timed(() =>
      generate(postgres, name, { devices, recordsEach: RECORDS_EACH, organization: ORGANIZATION }),
    )) / 1000;
  print(
    `${devices} devices and ${devices * RECORDS_EACH} log records made in ${seconds.toFixed(1)} s`,
  );
  services.push({ service, devices, client: createDeviceClient({ url: service.url, gateway }) });
}

type Case = (client: DeviceClient, devices: number) => Promise<{ readonly status: number }>;

const randomDevice = (devices: number) => `device-${1 + Math.floor(Math.random() * devices)}`;
const busyDevice = (devices: number) =>
  `device-${1 + Math.floor(Math.random() * (devices / BUSY_EVERY)) * BUSY_EVERY}`;
const randomProduct = () => `product-${Math.floor(Math.random() * PRODUCTS)}`;
const query = (client: DeviceClient, body: object) => client.query(body, ORGANIZATION);

const cases: Readonly<Record<string, Case>> = {
  detail: (client, devices) => client.detail(randomDevice(devices), ORGANIZATION),
  'list, first page': (client) => client.list('', ORGANIZATION),
  'log, first page': (client, devices) => client.log(busyDevice(devices), '', ORGANIZATION),
  'query, state and product': (client) =>
    query(client, { where: `state = online and productId = ${randomProduct()}` }),
  'query, state': (client) => query(client, { where: 'state = notActive' }),
  'query, id in 25': (client, devices) =>
    query(client, {
      terms: [
        {
          column: 'id',
          termType: 'in',
          value: Array.from({ length: 25 }, () => randomDevice(devices)),
        },
      ],
    }),
  'query, name like prefix%': (client, devices) =>
    query(client, {
      where: `name like 'Device number ${randomDevice(devices).slice(7)}%'`,
      total: 0,
    }),
};

for (const [title, call] of Object.entries(cases)) {
  const samples: number[][] = services.map(() => []);
  for (let i = 0; i < WARM_UP + REQUESTS; i += 1) {
    for (const [side, { client, devices }] of services.entries()) {
      const took = await timed(async () => {
        const { status } = await call(client, devices);
        if (status !== 200) {
          throw new Error(`${title}: ${status}`);
        }
      });
      if (i >= WARM_UP) {
        samples[side]?.push(took);
      }
    }
  }
  const [small = [], large = []] = samples;
  const shares = [0.5, 0.95, 0.99].map((share) => {
    const [before, after] = [percentile(small, share), percentile(large, share)];
    const ratio = (after / before).toFixed(2);
    return `p${share * 100} ${milliseconds(before)} → ${milliseconds(after)} ms (${ratio})`;
  });
  print(`${title.padEnd(26)} ${shares.join('   ')}`);
}

const large = services.at(-1)?.client;
if (large !== undefined) {
  const costs: Readonly<Record<string, () => Promise<unknown>>> = {
    'page at 10,000': () => large.list('?pageIndex=400', ORGANIZATION),
    'page at 100,000 (the last)': () => large.list('?pageIndex=4000', ORGANIZATION),
    'next 1000 after an id': () =>
      query(large, { where: 'id > device-5', orderBy: 'id', pageSize: 1000, total: 0 }),
    'name like %text% (no index)': () => query(large, { where: 'name like %99999%' }),
    'sort by address (no index)': () => query(large, { orderBy: 'address', total: 0 }),
    '_count of an unkept filter': () =>
      large.call(
        'POST',
        '/device/instance/_count',
        { where: 'onlineTime > 0' },
        { org: ORGANIZATION },
      ),
  };
  for (const [title, call] of Object.entries(costs)) {
    const samples: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      samples.push(await timed(call));
    }
    print(`${title.padEnd(28)} median ${milliseconds(percentile(samples, 0.5))} ms`);
  }
}
const plan = await postgres.sql(
  `explain delete from device_logs where ctid = any (array(select ctid from device_logs
     where create_time < 1700000100000 order by create_time limit 500 for update skip locked))`,
  'large',
);
print(`\nexpiry, one step:\n${plan}`);

for (const { service } of services) {
  await service.end('SIGTERM');
}
await postgres.stop();
await gateway.stop();
rmSync(directory, { recursive: true });
