/**
 * `node bench/tracing/run.ts [rounds] [requests]`: the processor time of a gateway per request,
 * without tracing, at 1 % sampling and with spans for every request. The rounds alternate.
 */
import { once } from 'node:events';
import { Agent, createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Constellation, parseMetrics, startConstellation } from '@gatehouse/testing';
import { oneClient } from '../../test/one-client.ts';
import { startOtlpReceiver } from '../../test/otlp-receiver.ts';

const rounds = Number(process.argv[2] ?? 9);
const requests = Number(process.argv[3] ?? 8000);
const CONCURRENCY = 32;
const secureKey = 'benchmarkKey0123456789abcdef';

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

for (let round = -1; round < rounds; round += 1) {
  for (const { system, token, costs } of systems) {
    const before = await processorSeconds(system);
    await load(system.gatewayUrl, token);
    const cost = ((await processorSeconds(system)) - before) / requests;
    // The first round warms up.
    if (round >= 0) {
      costs.push(cost * 1e6);
    }
  }
}
const base = median(systems[0]?.costs ?? []);
for (const { name, costs, system } of systems) {
  const ratios = costs.map((cost, round) => cost / (systems[0]?.costs[round] ?? cost));
  console.log(
    `${name}: ${median(costs).toFixed(1)} µs, ${(median(costs) / base).toFixed(3)} of off, median ratio ${median(ratios).toFixed(3)}`,
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
          if (reply.statusCode !== 200) {
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

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
