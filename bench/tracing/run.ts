/**
 * `node bench/tracing/run.ts [rounds] [requests]`: the processor time of a gateway per request,
 * without tracing, at 1 % sampling and with spans for every request. Many short rounds alternate
 * between the gateways, so that other programs disturb all of them equally.
 */
import { once } from 'node:events';
import { Agent, createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Constellation,
  oneClient,
  parseMetrics,
  startConstellation,
} from '@gatehouse/testing';
import { startOtlpReceiver } from '../../test/otlp-receiver.ts';
import { median } from '../machinery/percentile.ts';

const rounds = Number(process.argv[2] ?? 300);
const requests = Number(process.argv[3] ?? 400);
const CONCURRENCY = 32;
const WARM_UP_ROUNDS = 20;
const MAXIMUM_FAILURES = 1000;
const secureKey = 'benchmarkKey0123456789abcdef';

let failed = 0;
const receiver = await startOtlpReceiver();
const service = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"result":[]}');
});
await once(service.listen(0, '127.0.0.1'), 'listening');
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: 'traceidratio' };
const subjects: readonly (readonly [string, Record<string, string>])[] = [
  ['off', {}],
  ['off again', {}],
  ['1 %', { ...endpoint, OTEL_TRACES_SAMPLER_ARG: '0.01' }],
  ['100 %', { ...endpoint, OTEL_TRACES_SAMPLER_ARG: '1' }],
];
const systems = await Promise.all(
  subjects.map(async ([name, environment]) => {
    const system = await startConstellation({
      engine: 'redis',
      bootstrap: oneClient(secureKey),
      apps: ['authorization-server', 'gateway'],
      environment: {
        DEVICE_SERVICE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
        ...environment,
      },
    });
    return { name, system, token: await requestToken(system), costs: [] as number[] };
  }),
);

const ends = new Map<Constellation, number>();
for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
  // Every gateway is first in turn.
  const first = (round + WARM_UP_ROUNDS) % systems.length;
  for (const { system, token, costs } of [...systems.slice(first), ...systems.slice(0, first)]) {
    await load(system.gatewayUrl, token);
    const now = await processorSeconds(system);
    if (round >= 0) {
      // Since the end of its last round: spans are exported while the other gateways are measured.
      costs.push(((now - (ends.get(system) ?? now)) / requests) * 1e6);
    }
    ends.set(system, now);
  }
}
const base = systems[0]?.costs ?? [];
console.log(`${failed} requests failed.`);
console.log(
  '| Gateway | CPU µs per request | minimum | median ratio of the rounds | 95 % interval |',
);
console.log('|---|---|---|---|---|');
for (const { name, costs, system } of systems) {
  const ratios = costs.map((cost, round) => cost / (base[round] ?? cost));
  const interval = medianInterval(ratios).map((each) => each.toFixed(3));
  const cells = [median(costs), Math.min(...costs)].map((each) => each.toFixed(1));
  console.log(
    `| ${[name, ...cells, median(ratios).toFixed(3), interval.join(' to ')].join(' | ')} |`,
  );
  await system.stop();
}
receiver.close();
service.close();
service.closeAllConnections();

async function requestToken({ authorizationServerUrl }: Constellation): Promise<string> {
  const reply = await fetch(`${authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`one:${secureKey}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return String(((await reply.json()) as { access_token?: unknown }).access_token);
}

async function processorSeconds({ members }: Constellation): Promise<number> {
  const gateway = members.find(({ app }) => app === 'gateway');
  const text = await (await fetch(`${gateway?.operationsUrl}/metrics`)).text();
  const family = parseMetrics(text).get('process_cpu_seconds_total');
  return Number(family?.samples[0]?.value);
}

async function load(url: string, token: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  let left = requests;
  const headers = { authorization: `Bearer ${token}` };
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await new Promise<void>((resolve, reject) => {
        sendRequest(`${url}/api/device`, { agent, headers }, (reply) => {
          failed += reply.statusCode === 200 ? 0 : 1;
          // On a busy machine, a few store commands miss their deadline.
          if (failed > MAXIMUM_FAILURES) {
            reject(new Error(`The gateway answered ${reply.statusCode}.`));
          }
          reply.resume().on('end', resolve);
        })
          .on('error', reject)
          .end();
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  agent.destroy();
}

/** The order statistics between which the median is with 95 % probability. */
function medianInterval(values: readonly number[]): readonly number[] {
  const sorted = [...values].sort((a, b) => a - b);
  const spread = 0.98 * Math.sqrt(sorted.length);
  return [sorted.length / 2 - spread, sorted.length / 2 + spread].map(
    (rank) => sorted[Math.min(Math.max(Math.round(rank), 0), sorted.length - 1)] ?? Number.NaN,
  );
}
