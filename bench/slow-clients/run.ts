/**
 * Sends good requests to the gateway and to the authorization server, alone and next to 500 slow
 * clients of slowhttptest: slow headers (-H), slow bodies (-B), slow readers (-X). Quiet and slow
 * rounds alternate, and the results are medians. Exits with 1 if p99 more than doubles and grows by
 * 200 ms, three times in a row.
 *
 *   node bench/slow-clients/run.ts [rounds] [seconds]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Constellation, endWithThisProcess, startConstellation } from '@gatehouse/testing';
import { median } from '../machinery/percentile.ts';
import { type Latency, measureGoodRequests } from './good-requests.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 8);
const CONNECTIONS = 500;
const CONNECTIONS_PER_SECOND = 250;
const MOST = 2;
/** A busy machine alone can add this to the p99. The defects that this program found added seconds. */
const HICCUP_MILLISECONDS = 200;
/** Other load on the machine slows single comparisons. A defect slows all of them. */
const ATTEMPTS = 3;

// Ends its child processes, also at Ctrl-C.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}

const client = { clientId: 'bench', secureKey: 'benchKey0123456789abcdef' };
const basic = `Basic ${btoa(`${client.clientId}:${client.secureKey}`)}`;

/** A server, and the slowhttptest arguments of each kind of slowness. */
interface Target {
  readonly name: string;
  readonly good: { readonly url: string; readonly init: RequestInit };
  readonly attacks: Readonly<Record<string, readonly string[]>>;
}

const system = await startConstellation({
  engine: 'redis',
  bootstrap: {
    organizations: [{ id: 'bench', name: 'Bench' }],
    clients: [
      {
        ...client,
        name: 'Bench',
        orgId: 'bench',
        grantTypes: ['client_credentials'],
        scopes: ['device:read', 'device:write'],
      },
    ],
  },
  environment: {
    LOG_LEVEL: 'info',
    // Here, slow and good clients have the same address.
    CLIENT_ENDPOINT_RATE_LIMIT: '9999999/60',
    PAGE_RATE_LIMIT: '9999999/60',
    ADDRESS_RATE_LIMIT: '10000000/60',
  },
});
try {
  const targets = await prepare(system);
  console.log(
    '| Server | 500 slow | p50 quiet | p50 loaded | p99 quiet | p99 loaded | p99 ratio | failed quiet, loaded |',
  );
  console.log('|---|---|---|---|---|---|---|---|');
  for (const target of targets) {
    for (const [kind, parameters] of Object.entries(target.attacks)) {
      let isSlowed = true;
      for (let attempt = 0; attempt < ATTEMPTS && isSlowed; attempt += 1) {
        isSlowed = await compare(target, kind, parameters);
      }
      if (isSlowed) {
        process.exitCode = 1;
      }
    }
  }
} finally {
  await system.stop();
}

/** Returns whether slow clients slow the good requests. */
async function compare(
  target: Target,
  kind: string,
  parameters: readonly string[],
): Promise<boolean> {
  const quiet: Latency[] = [];
  const beside: Latency[] = [];
  for (let round = 0; round < rounds; round += 1) {
    quiet.push(await measureGoodRequests(target.good, seconds));
    const attack = startSlowClients(parameters);
    await sleep(1000 * (CONNECTIONS / CONNECTIONS_PER_SECOND + 1));
    beside.push(await measureGoodRequests(target.good, seconds));
    await attack.end();
    await sleep(500);
  }
  const ratio = median(beside.map((each, round) => each.p99 / (quiet[round]?.p99 ?? NaN)));
  const figures = [
    median(quiet.map(({ p50 }) => p50)),
    median(beside.map(({ p50 }) => p50)),
    median(quiet.map(({ p99 }) => p99)),
    median(beside.map(({ p99 }) => p99)),
  ].map((milliseconds) => `${milliseconds.toFixed(1)} ms`);
  const failed = [quiet, beside].map((runs) => runs.reduce((sum, each) => sum + each.failed, 0));
  const cells = [target.name, kind, ...figures, ratio.toFixed(2), failed.join(', ')];
  console.log(`| ${cells.join(' | ')} |`);
  const added = median(beside.map((each, round) => each.p99 - (quiet[round]?.p99 ?? NaN)));
  return !(ratio <= MOST || added < HICCUP_MILLISECONDS);
}

function startSlowClients(parameters: readonly string[]) {
  // Attackers use the processors of other machines, so these get the lowest priority.
  const child = spawn(
    'nice',
    [
      '-n',
      '19',
      'slowhttptest',
      '-c',
      String(CONNECTIONS),
      '-r',
      String(CONNECTIONS_PER_SECOND),
      '-l',
      '600',
      '-p',
      '5',
      '-v',
      '0',
      ...parameters,
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'close');
  endWithThisProcess(child);
  return {
    async end() {
      if (child.exitCode !== null) {
        throw new Error(`slowhttptest ended early with ${child.exitCode}.`);
      }
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function prepare(constellation: Constellation): Promise<readonly Target[]> {
  const { authorizationServerUrl: server, gatewayUrl: gateway } = constellation;
  const reply = await fetch(`${server}/token`, {
    method: 'POST',
    headers: { authorization: basic },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await reply.json()) as { access_token: string };
  await makeDevice(gateway, token);
  const headers = ['-H', '-i', '5', '-x', '24'];
  const body = ['-B', '-i', '5', '-s', '40000', '-x', '24', '-t', 'POST'];
  const reader = ['-X', '-w', '512', '-y', '1024', '-n', '5', '-z', '32'];
  return [
    {
      name: 'gateway',
      good: {
        url: `${gateway}/device-instance/_count`,
        init: { headers: { authorization: `Bearer ${token}` } },
      },
      attacks: {
        headers: [...headers, '-u', `${gateway}/api/device`],
        bodies: [
          ...body,
          '-f',
          'application/json',
          '-u',
          `${gateway}/device-instance?access_token=${token}`,
        ],
        readers: [
          ...reader,
          '-u',
          `${gateway}/device-instance/large/_detail?access_token=${token}`,
        ],
      },
    },
    {
      name: 'authorization server',
      good: {
        url: `${server}/token`,
        init: {
          method: 'POST',
          headers: { authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
          body: 'grant_type=client_credentials',
        },
      },
      attacks: {
        headers: [...headers, '-u', `${server}/token`],
        bodies: [...body, '-u', `${server}/token`],
        readers: [...reader, '-u', `${server}/assets/pages.css`],
      },
    },
  ];
}

/** Creates a device whose description does not fit into the kernel's buffers of a slow reader. */
async function makeDevice(gateway: string, token: string): Promise<void> {
  const reply = await fetch(`${gateway}/device-instance`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      id: 'large',
      name: 'Large',
      productId: 'bench',
      productName: 'Bench',
      configuration: Object.fromEntries(
        Array.from({ length: 100 }, (_, index) => [`text${index}`, 'x'.repeat(2000)]),
      ),
    }),
  });
  if (reply.status !== 200) {
    throw new Error(await reply.text());
  }
}
