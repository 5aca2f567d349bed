/**
 * Measures how an app scales with its workers. Each worker gets the same fixed share of a core, so
 * that two cores suffice for several workers. Rounds alternate, and the result is the median of the
 * ratios to one worker. Needs root, wrk and redis-server.
 *
 *   node bench/workers/run.ts [rounds] [seconds] [share] [apps, separated by commas]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AppName, type Constellation, freePort, startConstellation } from '@gatehouse/testing';
import { startNginx } from '../machinery/nginx.ts';
import { median } from '../machinery/percentile.ts';
import { stopAll } from '../machinery/processes.ts';
import { processorSeconds } from '../machinery/processor-time.ts';
import { type BenchRequest, writeRequests } from '../machinery/request-file.ts';
import { measure } from '../machinery/wrk.ts';
import { limitProcessor, removeGroups } from './processor-share.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 4);
const share = Number(process.argv[4] ?? 0.15);
const only = process.argv[5]?.split(',');
const COUNTS = [1, 2, 4] as const;
/** For each worker, because a worker sends the store commands of simultaneous requests at once. */
const CONNECTIONS = 16;
/** For each worker. */
const WARM_UP_SECONDS = 4;

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const secureKey = 'benchKey0123456789abc';
const authorization = `Basic ${btoa(`bench:${secureKey}`)}`;
const bootstrap = {
  organizations: [{ id: 'bench', name: 'Bench' }],
  clients: [
    {
      clientId: 'bench',
      secureKey,
      name: 'Bench',
      orgId: 'bench',
      grantTypes: ['client_credentials'],
      scopes: ['device:read'],
    },
  ],
};

interface Subject {
  readonly app: AppName;
  readonly request: (token: string) => BenchRequest;
  /** Whether a bare server replaces the device service, so that only the gateway is measured. */
  readonly bareUpstream?: boolean;
}

const list = (token: string): BenchRequest => ({
  method: 'GET',
  path: '/api/device?pageSize=20&pageIndex=0',
  headers: { Authorization: `Bearer ${token}` },
});

const subjects: readonly Subject[] = [
  { app: 'gateway', request: list, bareUpstream: true },
  {
    app: 'authorization-server',
    request: () => ({
      method: 'POST',
      path: '/platform/oauth2/token',
      headers: {},
      body: JSON.stringify({
        grant_type: 'client_credentials',
        client_id: 'bench',
        client_secret: secureKey,
      }),
    }),
  },
  { app: 'device-service', request: list },
];

interface Running {
  readonly workers: number;
  readonly system: Constellation;
  readonly pids: readonly number[];
  readonly url: string;
  readonly requestFile: string;
}

async function startSystem(
  { app, request, bareUpstream }: Subject,
  workers: number,
  upstreamPort: number,
): Promise<Running> {
  const system = await startConstellation({
    engine: 'redis',
    bootstrap,
    environment: {
      WORKERS: String(workers),
      LOG_LEVEL: 'warn',
      CLIENT_RATE_LIMIT: '999999999/60',
      ADDRESS_RATE_LIMIT: '999999999/60',
      CLIENT_ENDPOINT_RATE_LIMIT: '9999999/60',
      ...(bareUpstream && { DEVICE_SERVICE_URL: `http://127.0.0.1:${upstreamPort}` }),
    },
  });
  const pid = system.members.find((member) => member.app === app)?.process.pid ?? 0;
  // A single process serves requests itself.
  const pids = workers === 1 ? [pid] : childrenOf(pid);
  const file = join(directory, `${app}-${workers}`);
  const token = await issueToken(system.authorizationServerUrl);
  return {
    workers,
    system,
    pids,
    url: app === 'authorization-server' ? system.authorizationServerUrl : system.gatewayUrl,
    requestFile: writeRequests(file, [request(token)]),
  };
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

async function issueToken(issuer: string): Promise<string> {
  const reply = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await reply.json()) as { access_token: string };
  return token;
}

function load({ url, requestFile, pids, workers }: Running, duration: number) {
  const before = pids.map((pid) => processorSeconds([pid]));
  const { requestsPerSecond, p99Milliseconds } = measure({
    url,
    requestFile,
    connections: CONNECTIONS * workers,
    seconds: duration,
    pids: {},
  });
  const used = pids.map((pid, i) => (processorSeconds([pid]) - (before[i] ?? 0)) / duration);
  return { requestsPerSecond, p99Milliseconds, used };
}

/** On a busy machine, a worker may not get its share. Its processor time shows what it lost. */
function perProcessorSecond({ requestsPerSecond, used }: ReturnType<typeof load>): number {
  return requestsPerSecond / used.reduce((sum, each) => sum + each, 0);
}

async function compare(subject: Subject, upstreamPort: number): Promise<void> {
  const running: Running[] = [];
  for (const count of COUNTS) {
    running.push(await startSystem(subject, count, upstreamPort));
  }
  try {
    const results = running.map((each) => ({ each, samples: [] as ReturnType<typeof load>[] }));
    for (const { each } of results) {
      // Without a limit, because compiling the code would use up the share for a long time.
      load(each, WARM_UP_SECONDS * each.workers);
      for (const pid of each.pids) {
        limitProcessor(pid, share);
      }
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const { each, samples } of results) {
        samples.push(load(each, seconds));
      }
    }
    const single = results[0]?.samples ?? [];
    console.log(
      `\n| ${subject.app} | requests/s | ratio | requests per second of processor time | ratio | p99 ms | share of each worker |`,
    );
    console.log('|---|---|---|---|---|---|---|');
    for (const { each, samples } of results) {
      const rate = median(samples.map(({ requestsPerSecond }) => requestsPerSecond));
      const ratio = median(
        samples.map((sample, i) => sample.requestsPerSecond / (single[i]?.requestsPerSecond ?? 0)),
      );
      const efficiency = median(samples.map(perProcessorSecond));
      const scaled = median(
        samples.map(
          (sample, i) =>
            (each.workers * perProcessorSecond(sample)) / perProcessorSecond(single[i] ?? sample),
        ),
      );
      const p99 = median(samples.map(({ p99Milliseconds }) => p99Milliseconds));
      const used = each.pids.map((_pid, i) => median(samples.map((sample) => sample.used[i] ?? 0)));
      const shares = used.map((part) => part.toFixed(2)).join(', ');
      console.log(
        `| ${each.workers} | ${rate.toFixed(0)} | ${ratio.toFixed(2)} | ${efficiency.toFixed(0)} | ${scaled.toFixed(2)} | ${p99.toFixed(0)} | ${shares} |`,
      );
    }
  } finally {
    await Promise.all(running.map(({ system }) => system.stop()));
    removeGroups();
  }
}

const reply = JSON.stringify({ status: 200, code: 'success', result: [], x: 'x'.repeat(140) });
const upstreamPort = await freePort();
startNginx(
  undefined,
  join(directory, 'upstream'),
  `server { listen 127.0.0.1:${upstreamPort}; default_type application/json;
     location / { return 200 '${reply}'; } }`,
);
try {
  for (const subject of subjects) {
    if (only === undefined || only.includes(subject.app)) {
      await compare(subject, upstreamPort);
    }
  }
} finally {
  await stopAll();
  rmSync(directory, { recursive: true });
}
