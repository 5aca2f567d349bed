/**
 * Measures what a request costs the device service, before and after: it sends the same requests
 * alternately to the service of an earlier commit and to the service of this checkout. Other load
 * affects both, so compare the ratios. With `floor` instead of a commit, it compares lists with
 * `floor-server.ts`.
 *
 *   node bench/device-service/requests.ts [sqlite|postgres] [rounds=5] [commit=668dc1d] [seconds=2] [case]
 *   node bench/device-service/requests.ts postgres 5 floor 2 list
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type DatabaseEngineName,
  startDatabaseEngine,
} from '../../apps/device-service/test/database-engines.ts';
import { createDeviceClient } from '../../apps/device-service/test/device-client.ts';
import { startGatewayDouble } from '../../apps/device-service/test/gateway-double.ts';
import { startServiceProcess } from '../../apps/device-service/test/service-process.ts';
import { checkOutCommit } from '../machinery/earlier-commit.ts';
import { median } from '../machinery/percentile.ts';
import { processorSeconds } from '../machinery/processor-time.ts';
import { print } from './printing.ts';

const ENGINE = (process.argv[2] ?? 'sqlite') as DatabaseEngineName;
const ROUNDS = Number(process.argv[3] ?? 5);
const COMMIT = process.argv[4] ?? '668dc1d';
const SECONDS = Number(process.argv[5] ?? 2);
const PREFIX = process.argv[6] ?? '';
const CONNECTIONS = 16;
const LISTED_DEVICES = 20;
const LOG_RECORDS = 20;

interface Case {
  readonly title: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Writes go to another organization, so that the lists stay equal. */
  readonly organization: 'read' | 'written';
  readonly body?: object;
}

const cases: readonly Case[] = [
  { title: 'list, 20 devices', method: 'GET', path: '/api/device', organization: 'read' },
  { title: 'detail', method: 'GET', path: '/api/v1/device/d-1/_detail', organization: 'read' },
  {
    title: 'log/_query, 20 records',
    method: 'GET',
    path: '/api/v1/device/d-1/log/_query',
    organization: 'read',
  },
  {
    title: 'query by condition',
    method: 'POST',
    path: '/device/instance/_query',
    organization: 'read',
    body: { where: 'state = notActive and name like Device%', pageSize: 10, total: 20 },
  },
  {
    title: 'create',
    method: 'POST',
    path: '/device-instance',
    organization: 'written',
    body: { id: 'c-{n}', name: 'Created', productId: 'p', productName: 'Product' },
  },
  {
    title: 'report',
    method: 'POST',
    path: '/api/v1/device/d-1/log',
    organization: 'written',
    body: { type: 'reportProperty', content: '{"temperature":21.5}' },
  },
];

const directory = mkdtempSync(join(tmpdir(), 'device-bench-'));
const gateway = await startGatewayDouble();
const earlier = COMMIT === 'floor' ? undefined : checkOutCommit(COMMIT, join(directory, 'earlier'));
const first = await startSide('before', earlier?.directory);
const sides = [
  earlier === undefined ? await replaceByFloor(first) : first,
  await startSide('after', undefined),
];

async function startSide(name: string, checkout: string | undefined) {
  const engine = await startDatabaseEngine(ENGINE);
  const service = await startServiceProcess(
    {
      DATA_DIR: directory,
      DATABASE_URL: engine.url,
      GATEWAY_URL: gateway.issuer,
      GATEWAY_JWKS_URL: gateway.jwksUrl,
      // For a profile of this checkout: PROFILE='--cpu-prof --cpu-prof-dir=…'.
      ...(checkout === undefined && process.env.PROFILE && { NODE_OPTIONS: process.env.PROFILE }),
    },
    checkout === undefined ? {} : { checkout },
  );
  const client = createDeviceClient({ url: service.url, gateway });
  for (const org of ['read', 'written']) {
    const devices = Array.from({ length: LISTED_DEVICES }, (_, i) => ({
      id: `d-${i}`,
      name: `Device ${i}`,
      productId: 'p',
      productName: 'Product',
      configuration: { isDebug: 'false', parseType: '' },
    }));
    await client.createAll(devices, org);
    const record = { type: 'reportProperty', content: '{"temperature":21.5,"humidity":40}' };
    await client.report(
      'd-1',
      Array.from({ length: LOG_RECORDS }, () => record),
      org,
    );
  }
  return { name, engine, service };
}

/** The service has created the tables and the devices. */
async function replaceByFloor(side: Side): Promise<Side> {
  await side.service.end('SIGTERM');
  const server = spawn(process.execPath, [join(import.meta.dirname, 'floor-server.ts')], {
    env: { ...process.env, DATABASE_URL: side.engine.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = await once(server.stdout, 'data');
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    server.kill(signal);
    await once(server, 'exit');
    return null;
  };
  const url = `http://127.0.0.1:${Number(port)}`;
  return { ...side, service: { ...side.service, pid: server.pid ?? 0, url, end } };
}

type Side = Awaited<ReturnType<typeof startSide>>;

interface Sample {
  readonly requestsPerSecond: number;
  /** Of the service, without the database server. */
  readonly cpuMicroseconds: number;
}

async function measure({ service }: Side, each: Case): Promise<Sample> {
  const token = await gateway.token({
    org: each.organization,
    scope: 'device:read device:write device:log device:report',
  });
  const body = each.body === undefined ? [] : [JSON.stringify(each.body)];
  const before = processorSeconds([service.pid]);
  const load = `-t1 -c${CONNECTIONS} -d${SECONDS}s -s ${join(import.meta.dirname, 'requests.lua')}`;
  // Not execFileSync, because this process has to read the log of the service.
  const { stdout: output } = await promisify(execFile)('wrk', [
    ...load.split(' '),
    service.url,
    '--',
    each.method,
    each.path,
    token,
    ...body,
  ]);
  const count = Number(/(\d+) requests in/.exec(output)?.[1]);
  if (output.includes('Non-2xx')) {
    throw new Error(`${each.title}: ${output}`);
  }
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]),
    cpuMicroseconds: ((processorSeconds([service.pid]) - before) * 1e6) / count,
  };
}

print(`${ENGINE}, ${ROUNDS} rounds of ${SECONDS} s, before: ${COMMIT}\n`);
print('| | requests/s | CPU µs per request | CPU before ÷ after |\n|---|---|---|---|');
for (const each of cases.filter(({ title }) => title.startsWith(PREFIX))) {
  const samples = new Map<Side, Sample[]>(sides.map((side) => [side, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const side of sides) {
      const sample = await measure(side, each);
      if (round > 0) {
        samples.get(side)?.push(sample);
      }
    }
  }
  const [before = [], after = []] = sides.map((side) => samples.get(side) ?? []);
  const rates = [before, after].map((all) => median(all.map((one) => one.requestsPerSecond)));
  const costs = [before, after].map((all) => median(all.map((one) => one.cpuMicroseconds)));
  const ratios = before.map((one, i) => one.cpuMicroseconds / (after[i]?.cpuMicroseconds ?? 0));
  const arrow = (values: readonly number[]) => values.map((value) => value.toFixed(0)).join(' → ');
  print(`| ${each.title} | ${arrow(rates)} | ${arrow(costs)} | ${median(ratios).toFixed(2)} |`);
}

for (const { engine, service } of sides) {
  await service.end('SIGTERM');
  await engine.stop();
}
await gateway.stop();
earlier?.remove();
rmSync(directory, { recursive: true });
