/**
 * `node bench/gateway/earlier.ts COMMIT [rounds] [seconds]`: the bearer path of the gateway of this
 * checkout, compared with that of an earlier commit. Both run at the same time, and rounds alternate
 * between them. It needs `wrk`, `nginx` and `redis-server`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, machineToken, oneClient, startConstellation } from '@gatehouse/testing';
import { checkOutCommit } from '../machinery/earlier-commit.ts';
import { startNginx } from '../machinery/nginx.ts';
import { median } from '../machinery/percentile.ts';
import { CORE_LOAD, stopAll } from '../machinery/processes.ts';
import { writeRequests } from '../machinery/request-file.ts';
import { type Measured, measure } from '../machinery/wrk.ts';

const [commit = 'HEAD', rounds = '20', seconds = '1'] = process.argv.slice(2);
const secureKey = 'benchmarkKey0123456789abcdef';
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const earlier = checkOutCommit(commit, join(directory, 'earlier'));
const port = await freePort();
startNginx(
  CORE_LOAD,
  join(directory, 'upstream'),
  `server { listen 127.0.0.1:${port}; default_type application/json; return 200 '{"result":[]}'; }`,
);

async function startSide(name: string, source?: string) {
  const system = await startConstellation({
    engine: 'redis',
    bootstrap: oneClient(secureKey),
    apps: ['authorization-server', 'gateway'],
    // This process does not read the output of a gateway while wrk runs.
    environment: { DEVICE_SERVICE_URL: `http://127.0.0.1:${port}`, LOG_LEVEL: 'warn' },
    ...(source !== undefined && { source }),
  });
  const headers = { Authorization: `Bearer ${await machineToken(system, secureKey)}` };
  const requestFile = writeRequests(join(directory, `requests-${name.replaceAll(' ', '-')}`), [
    { method: 'GET', path: '/api/device', headers },
  ]);
  return { name, system, requestFile, measured: [] as Measured[] };
}

const sides = [
  await startSide('earlier', earlier.directory),
  // Its ratio shows the error of the measurement.
  await startSide('earlier again', earlier.directory),
  await startSide('this checkout'),
];
for (let round = -2; round < Number(rounds); round += 1) {
  const first = (round + 3) % sides.length;
  for (const { system, requestFile, measured } of [
    ...sides.slice(first),
    ...sides.slice(0, first),
  ]) {
    const result = measure({
      url: system.gatewayUrl.replace('localhost', '127.0.0.1'),
      requestFile,
      connections: 32,
      core: CORE_LOAD,
      seconds: Number(seconds),
      pids: { gateway: [system.member('gateway').process.pid] },
    });
    measured.push(...(round < 0 ? [] : [result]));
  }
}
const costOf = ({ cpuMicroseconds }: Measured) => cpuMicroseconds.gateway ?? Number.NaN;
const base = sides[0]?.measured ?? [];
console.log('| Gateway | CPU µs per request | requests/s | cost ÷ earlier | rate ÷ earlier |');
console.log('|---|---|---|---|---|');
for (const { name, measured, system } of sides) {
  const rates = measured.map(({ requestsPerSecond }) => requestsPerSecond);
  const ratios = (read: (each: Measured) => number) =>
    median(measured.map((each, round) => read(each) / read(base[round] ?? each))).toFixed(3);
  const cells = [median(measured.map(costOf)).toFixed(1), median(rates).toFixed(0)];
  const compared = [ratios(costOf), ratios(({ requestsPerSecond }) => requestsPerSecond)];
  console.log(`| ${[name, ...cells, ...compared].join(' | ')} |`);
  await system.stop();
}
await stopAll();
earlier.remove();
rmSync(directory, { recursive: true });
