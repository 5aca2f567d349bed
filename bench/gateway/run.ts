/**
 * Compares the gateway with other proxies. Each is pinned to core 0 in turn. wrk, the nginx
 * upstream and Redis are on core 1. A run measures all subjects in rounds, and the results are
 * medians and ratios of medians.
 *
 *   node bench/gateway/run.ts [rounds] [seconds] [subjects, separated by commas]
 *   SOAK_SECONDS=600 node bench/gateway/run.ts 1 1 gateway-bearer
 *   CHILD_OPTIONS='--cpu-prof --cpu-prof-dir=/tmp/profile' KEEP_LOG=/tmp/gateway.log \
 *     node bench/gateway/run.ts …
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accessTokenKey, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { freePort } from '@gatehouse/testing';
import {
  CORE_LOAD,
  CORE_MEASURED,
  type Measured,
  makeCertificate,
  measure,
  residentMebibytes,
  start,
  startApache,
  startNginx,
  startNode,
  stopAll,
} from './machinery.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 5);
const only = process.argv[4]?.split(',');
const here = import.meta.dirname;
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const secureKey = 'benchKey0123456789abc';
const SIGNED_REQUESTS = 30_000;
const MANY_TOKENS = 10_000;

interface Subject {
  readonly url: string;
  readonly requests: string;
  readonly pids: readonly number[];
}

function file(name: string, lines: readonly string[]): string {
  const path = join(directory, name);
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return path;
}

/** Each request has a different signature, as those of clients do. */
function signedRequests(): string[] {
  const now = Date.now();
  return Array.from({ length: SIGNED_REQUESTS }, (_, index) => {
    const timestamp = String(now - index);
    const sign = createHash('sha256')
      .update(`pageIndex=0&pageSize=20${timestamp}${secureKey}`)
      .digest('hex');
    const headers = [`X-Client-Id=bench`, `X-Timestamp=${timestamp}`, `X-Sign=${sign}`];
    return ['/api/device?pageSize=20&pageIndex=0', ...headers].join('\t');
  });
}

async function startGateway(upstreamPort: number, redisPort: number): Promise<Subject[]> {
  const masterKey = randomBytes(32);
  const port = await freePort();
  const bootstrap = {
    organizations: [{ id: 'bench', name: 'Bench' }],
    clients: [
      { clientId: 'bench', secureKey, name: 'Bench', orgId: 'bench', scopes: ['device:read'] },
    ],
  };
  const gateway = await startNode(
    process.env.GATEWAY_MAIN ?? join(here, '../../apps/gateway/src/main.ts'),
    [],
    {
      log: process.env.KEEP_LOG ?? join(directory, 'gateway.log'),
      env: {
        GATEWAY_PORT: String(port),
        OPERATIONS_PORT: String(await freePort()),
        STORE_URL: `redis://127.0.0.1:${redisPort}`,
        DATA_DIR: directory,
        MASTER_KEY_FILE: file('master.key', [masterKey.toString('hex')]),
        BOOTSTRAP_FILE: file('bootstrap.json', [JSON.stringify(bootstrap)]),
        DEVICE_SERVICE_URL: `http://127.0.0.1:${upstreamPort}`,
      },
    },
  );
  const store = createStore(`redis://127.0.0.1:${redisPort}`);
  await sleep(300);
  const { credentialHash } = openIdentity({ store, masterKey });
  const tokens = Array.from({ length: MANY_TOKENS }, () => randomBytes(32).toString('base64url'));
  const issuedAt = Math.floor(Date.now() / 1000);
  const record = { kind: 'ClientCredentials', clientId: 'bench', scope: 'device:read' };
  const text = JSON.stringify({ ...record, iat: issuedAt, exp: issuedAt + 7200 });
  for (const token of tokens) {
    await store.set(accessTokenKey(credentialHash(token)), text, 7200);
  }
  await store.close();
  const line = (token: string) =>
    `/api/device?pageSize=20&pageIndex=0\tAuthorization=Bearer ${token}`;
  const subject = (requests: string): Subject => ({
    url: `http://127.0.0.1:${port}`,
    requests,
    pids: [gateway.pid ?? 0],
  });
  return [
    subject(file('bearer', tokens.slice(0, 1).map(line))),
    subject(file('bearers', tokens.map(line))),
    subject(file('signed', signedRequests())),
  ];
}

async function prepare(): Promise<Map<string, Subject>> {
  const ports = await Promise.all(Array.from({ length: 9 }, freePort));
  const [upstream = 0, redis = 0, plain = 0, asking = 0, ...more] = ports;
  const [node = 0, undici = 0, verifier = 0, apache = 0, introspection = 0] = more;
  const reply = JSON.stringify({
    status: 200,
    code: 'success',
    result: [],
    padding: 'x'.repeat(140),
  });
  startNginx(
    CORE_LOAD,
    join(directory, 'upstream'),
    `server { listen 127.0.0.1:${upstream}; default_type application/json;
       location / { return 200 '${reply}'; } }`,
  );
  // Redis with default settings, except for its port and directory.
  start(CORE_LOAD, 'redis-server', ['--port', String(redis), '--dir', directory]);
  await sleep(500);
  const known = randomBytes(32).toString('base64url');
  const behind = `upstream behind { server 127.0.0.1:${upstream}; keepalive 256; }`;
  const proxy = 'proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";';
  const plainNginx = startNginx(
    CORE_MEASURED,
    join(directory, 'plain'),
    `${behind} server { listen 127.0.0.1:${plain}; location / { ${proxy} } }`,
  );
  const askingNginx = startNginx(
    CORE_MEASURED,
    join(directory, 'asking'),
    `${behind} upstream verifier { server 127.0.0.1:${verifier}; keepalive 256; }
     server { listen 127.0.0.1:${asking};
       location / { auth_request /verify; ${proxy} }
       location = /verify { internal; proxy_pass http://verifier; proxy_http_version 1.1;
         proxy_set_header Connection ""; proxy_pass_request_body off; proxy_set_header Content-Length ""; } }`,
  );
  const verifierNode = await startNode(join(here, 'token-verifier.ts'), [
    String(verifier),
    String(introspection),
    makeCertificate(join(directory, 'verifier.pem')),
    known,
  ]);
  const apacheProxy = startApache(CORE_MEASURED, join(directory, 'apache'), {
    port: apache,
    upstream,
    verifier: introspection,
  });
  const nodeHttp = await startNode(join(here, 'node-http.ts'), [String(node)]);
  const undiciProxy = await startNode(join(here, 'undici-dispatch.ts'), [
    String(undici),
    String(upstream),
  ]);
  const [bearer, bearers, signed] = await startGateway(upstream, redis);
  const knownRequest = file('known', [
    `/api/device?pageSize=20&pageIndex=0\tAuthorization=Bearer ${known}`,
  ]);
  const peer = (port: number, ...pids: (number | undefined)[]): Subject => ({
    url: `http://127.0.0.1:${port}`,
    requests: knownRequest,
    pids: pids.map((pid) => pid ?? 0),
  });
  const subjects: [string, Subject | undefined][] = [
    ['nginx', peer(plain, plainNginx.pid)],
    ['node-http', peer(node, nodeHttp.pid)],
    ['undici-dispatch', peer(undici, undiciProxy.pid)],
    ['nginx-auth-request', peer(asking, askingNginx.pid, verifierNode.pid)],
    ['apache-openidc', apacheProxy && peer(apache, apacheProxy.pid, verifierNode.pid)],
    ['gateway-bearer', bearer],
    ['gateway-bearer-10000-tokens', bearers],
    ['gateway-signed', signed],
  ];
  return new Map(
    subjects.flatMap(([name, subject]) =>
      subject !== undefined && (only === undefined || only.includes(name)) ? [[name, subject]] : [],
    ),
  );
}

/** Records the memory of a subject under load every 10 s, after 10 s of warm-up. */
function soak(subjects: ReadonlyMap<string, Subject>, duration: number): void {
  for (const [name, { url, requests, pids }] of subjects) {
    console.log(`${name}: resident MiB every 10 s, and requests so far`);
    let count = 0;
    for (let second = -10; second < duration; second += 10) {
      count += measure(url, requests, pids, 10, { refusedPart: 1 }).requestsPerSecond * 10;
      console.log(`${second + 10} s: ${Math.round(residentMebibytes(pids[0] ?? 0))} ${count}`);
    }
  }
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

try {
  const subjects = await prepare();
  if (process.env.SOAK_SECONDS !== undefined) {
    soak(subjects, Number(process.env.SOAK_SECONDS));
  }
  const results = new Map([...subjects.keys()].map((name): [string, Measured[]] => [name, []]));
  for (const { url, requests, pids } of subjects.values()) {
    measure(url, requests, pids, 2);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, { url, requests, pids }] of subjects) {
      results.get(name)?.push(measure(url, requests, pids, seconds));
    }
  }
  const medians = new Map(
    [...results].map(([name, all]) => [
      name,
      {
        rate: median(all.map((each) => each.requestsPerSecond)),
        cpu: median(all.map((each) => each.cpuMicroseconds)),
        // The minimum is the sample that other load disturbed least.
        least: Math.min(...all.map((each) => each.cpuMicroseconds)),
        p99: median(all.map((each) => each.p99Milliseconds)),
        refused: all.reduce((sum, each) => sum + each.refused, 0),
      },
    ]),
  );
  const base = medians.get('undici-dispatch');
  console.log(
    '| Subject | requests/s | CPU µs per request | minimum | p99 ms | not 2xx | rate ÷ undici | minimum CPU: undici ÷ this |',
  );
  console.log('|---|---|---|---|---|---|---|---|');
  for (const [name, { rate, cpu, least, p99, refused }] of medians) {
    const ratios = base
      ? [(rate / base.rate).toFixed(2), (base.least / least).toFixed(2)]
      : ['', ''];
    console.log(
      `| ${[name, rate, cpu.toFixed(1), least.toFixed(1), p99.toFixed(1), refused, ...ratios].join(' | ')} |`,
    );
  }
} finally {
  stopAll();
  await sleep(500);
  rmSync(directory, { recursive: true, force: true });
}
