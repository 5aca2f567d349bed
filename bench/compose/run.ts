/**
 * Measures the memory of the apps in containers under mixed load. Requires a Docker engine. Starts
 * a separate tier, with its own ports and networks, and removes it at the end.
 *
 *   node bench/compose/run.ts [minutes] [requests per second]
 */
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDevice, registerUsers, requestToken, sign } from '../../test/compose/clients.ts';
import { type Call, startPacedLoad } from '../../test/compose/paced-load.ts';
import { createTier, docker, serviceOf } from '../../test/compose/tier.ts';

const [minutes = 10, requestsPerSecond = 100] = process.argv.slice(2).map(Number);
const SAMPLE_SECONDS = 10;
const apps = ['authorization-server', 'gateway', 'device-service'];

interface Sample {
  readonly minute: number;
  readonly megabytes: number;
}

process.env.GATEHOUSE_IMAGE = 'gatehouse:bench';
spawnSync('docker', ['compose', 'build', '--quiet', 'secrets'], { stdio: 'inherit' });
const tier = await createTier({
  environment: {
    GATEHOUSE_IMAGE: 'gatehouse:bench',
    CLIENT_ENDPOINT_RATE_LIMIT: '1000000/60',
    PAGE_RATE_LIMIT: '1000000/60',
    ADDRESS_RATE_LIMIT: '1000000/60',
  },
});
process.once('SIGINT', () => void tier.remove().then(() => process.exit(1)));
try {
  const started = await tier.up();
  console.log(`up, all healthy: ${(started / 1000).toFixed(1)} s`);
  const calls = await mixedCalls();
  const ids = new Map((await tier.containers()).map((each) => [serviceOf(each), each.Id]));
  const samples = new Map<string, Sample[]>(apps.map((app) => [app, []]));
  const load = startPacedLoad(requestsPerSecond, (turn) => {
    const call = calls[turn % calls.length];
    return call?.(turn) ?? { url: tier.gatewayUrl };
  });
  const begun = performance.now();
  const minute = () => (performance.now() - begun) / 60_000;
  while (minute() < minutes) {
    await sleep(SAMPLE_SECONDS * 1000);
    for (const app of apps) {
      const megabytes = await residentMegabytes(ids.get(app) ?? '');
      samples.get(app)?.push({ minute: minute(), megabytes });
    }
  }
  const { sent, outcomes } = await load.stop();
  console.log(`${sent} requests in ${minutes} min: ${JSON.stringify(outcomes)}`);
  console.log(
    '| App | at 1 min | at the end | most | slope of the last half |\n|---|---|---|---|---|',
  );
  for (const [app, taken] of samples) {
    console.log(report(app, taken));
  }
} finally {
  await tier.remove();
}

/**
 * Every way to get a token and to call the gateway. Only one request in fifty uses the password
 * grant, because hashing is expensive by design.
 */
async function mixedCalls(): Promise<readonly ((turn: number) => Call)[]> {
  const { web, alice } = await registerUsers(tier);
  await createDevice(tier, web, 'pump-1');
  const { body } = await requestToken(tier, web, { grant_type: 'client_credentials' });
  const bearer = { authorization: `Bearer ${body.access_token}` };
  const query = 'pageIndex=0&pageSize=5';
  const token = (parameters: Readonly<Record<string, string>>): Call => ({
    url: `${tier.authorizationServerUrl}/token`,
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${web.clientId}:${web.secureKey}`)}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(parameters).toString(),
  });
  const turns: readonly ((turn: number) => Call)[] = [
    () => ({ url: `${tier.gatewayUrl}/api/device`, headers: bearer }),
    () => ({ url: `${tier.gatewayUrl}/api/device?${query}`, headers: sign(web, query) }),
    () => token({ grant_type: 'client_credentials' }),
    () => ({ url: `${tier.gatewayUrl}/api/v1/device/pump-1/_detail`, headers: bearer }),
    (turn) => {
      const change = JSON.stringify({ name: `Pump ${turn}` });
      return {
        url: `${tier.gatewayUrl}/api/v1/device/pump-1`,
        method: 'PATCH',
        headers: { ...sign(web, change), 'content-type': 'application/json' },
        body: change,
      };
    },
  ];
  const password = () => token({ grant_type: 'password', ...alice });
  return [...Array.from({ length: 49 }, (_, i) => turns[i % turns.length] ?? password), password];
}

/** Measures only the process of the app, without init and a running health check. */
async function residentMegabytes(container: string): Promise<number> {
  const lines = (await docker('top', container, '-eo', 'pid,rss,args')).split('\n');
  const line = lines.find((each) => /node .*src\/main\.ts/.test(each) && !/init --/.test(each));
  return Number(line?.trim().split(/\s+/)[1] ?? Number.NaN) / 1024;
}

function report(app: string, samples: readonly Sample[]): string {
  const megabytes = samples.map((sample) => sample.megabytes);
  const lastHalf = samples.slice(Math.floor(samples.length / 2));
  const atOneMinute = samples.find(({ minute }) => minute >= 1)?.megabytes ?? Number.NaN;
  const cells = [atOneMinute, megabytes.at(-1) ?? Number.NaN, Math.max(...megabytes)];
  const slope = leastSquaresSlope(lastHalf).toFixed(2);
  return `| ${app} | ${cells.map((cell) => `${cell.toFixed(0)} MB`).join(' | ')} | ${slope} MB/min |`;
}

function leastSquaresSlope(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const x = mean(samples.map(({ minute }) => minute));
  const y = mean(samples.map(({ megabytes }) => megabytes));
  const covariance = mean(samples.map((each) => (each.minute - x) * (each.megabytes - y)));
  return covariance / mean(samples.map((each) => (each.minute - x) ** 2));
}
