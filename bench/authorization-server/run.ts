/**
 * Compares client_credentials at /token of Gatehouse over Redis with oidc-provider in memory. Each
 * server is pinned to core 0 in turn, wrk and Redis to core 1. Rounds alternate, and the result is
 * the median of the ratios.
 *
 *   node bench/authorization-server/run.ts [rounds] [seconds]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@gatehouse/testing';
import { median } from '../machinery/percentile.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 5);
const here = import.meta.dirname;
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const children: ChildProcess[] = [];

function start(core: number, command: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn('taskset', ['-c', String(core), command, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH: process.env.PATH, ...env },
  });
  children.push(child);
  return child;
}

async function startNode(script: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = start(0, process.execPath, [script, ...args], env);
  await once(child, 'message');
  return child;
}

function secret(name: string): string {
  const path = join(directory, name);
  writeFileSync(path, randomBytes(32).toString('hex'), { mode: 0o600 });
  return path;
}

interface Run {
  readonly requestsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly p99: string;
}

function measure(port: number, pid: number): Run {
  const before = cpuSeconds(pid);
  const output = execFileSync(
    'taskset',
    [
      '-c',
      '1',
      'wrk',
      '-t1',
      '-c32',
      `-d${seconds}s`,
      '--latency',
      '-s',
      join(here, 'token.lua'),
      `http://127.0.0.1:${port}/token`,
    ],
    { encoding: 'utf8' },
  );
  if (/Non-2xx/.test(output)) {
    throw new Error(output);
  }
  const requests = Number(/(\d+) requests in/.exec(output)?.[1]);
  return {
    requestsPerSecond: Math.round(Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])),
    cpuMicroseconds: Math.round(((cpuSeconds(pid) - before) * 1e6) / requests),
    p99: /99%\s+(\S+)/.exec(output)?.[1] ?? '',
  };
}

/** User and system time of a process in seconds. The kernel counts in hundredths. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

try {
  const redisPort = await freePort();
  start(1, 'redis-server', ['--port', String(redisPort), '--save', '', '--dir', directory]);
  await sleep(500);
  const bootstrap = join(directory, 'bootstrap.json');
  writeFileSync(
    bootstrap,
    JSON.stringify({
      organizations: [{ id: 'bench', name: 'Bench' }],
      clients: [
        {
          clientId: 'bench',
          secureKey: 'benchKey0123456789abc',
          name: 'Bench',
          orgId: 'bench',
          scopes: ['device:read'],
        },
      ],
    }),
  );
  const [oursPort, operationsPort, barePort] = [
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const ours = await startNode(join(here, '../../apps/authorization-server/src/main.ts'), [], {
    AUTHORIZATION_SERVER_PORT: String(oursPort),
    OPERATIONS_PORT: String(operationsPort),
    STORE_URL: `redis://127.0.0.1:${redisPort}`,
    MASTER_KEY_FILE: secret('master.key'),
    COOKIE_KEYS_FILE: secret('cookie.keys'),
    BOOTSTRAP_FILE: bootstrap,
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'info',
    // One address sends all requests. The server still counts them.
    CLIENT_ENDPOINT_RATE_LIMIT: '9999999/60',
    PAGE_RATE_LIMIT: '9999999/60',
  });
  const bare = await startNode(join(here, 'bare-provider.ts'), [String(barePort)]);
  measure(oursPort, ours.pid ?? 0);
  measure(barePort, bare.pid ?? 0);
  const ratios: number[] = [];
  const cpuRatios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const a = measure(oursPort, ours.pid ?? 0);
    const b = measure(barePort, bare.pid ?? 0);
    ratios.push(a.requestsPerSecond / b.requestsPerSecond);
    cpuRatios.push(b.cpuMicroseconds / a.cpuMicroseconds);
    console.log({ gatehouse: a, bare: b });
  }
  console.log(
    `Gatehouse over Redis / bare oidc-provider in memory: ${median(ratios).toFixed(2)} by requests, ${median(cpuRatios).toFixed(2)} by CPU time`,
  );
} finally {
  for (const child of children) {
    child.kill('SIGKILL');
  }
  rmSync(directory, { recursive: true, force: true });
}
