/**
 * Compares the gateway with other proxies. Each is pinned to core 0 in turn. wrk, the nginx
 * upstream and Redis are on core 1. A run measures all subjects in rounds, and the results are
 * medians and ratios of medians.
 *
 *   node bench/gateway/run.ts [rounds] [seconds] [subjects, separated by commas]
 *   SOAK_SECONDS=600 node bench/gateway/run.ts 1 1 gateway-bearer
 *   MEMORY_COMPETITOR=true PERF_EVENTS=instructions,cache-misses node bench/gateway/run.ts …
 *   CHILD_OPTIONS='--cpu-prof --cpu-prof-dir=/tmp/profile' KEEP_LOG=/tmp/gateway.log \
 *     node bench/gateway/run.ts …
 */
import type { ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialKey, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { freePort, makeCertificate } from '@gatehouse/testing';
import { startNginx } from '../machinery/nginx.ts';
import { median } from '../machinery/percentile.ts';
import { CORE_LOAD, CORE_MEASURED, start, startNode, stopAll } from '../machinery/processes.ts';
import { availableEvents } from '../machinery/processor-events.ts';
import { residentMebibytes } from '../machinery/processor-time.ts';
import { type BenchRequest, writeRequests } from '../machinery/request-file.ts';
import { type Measured, measure } from '../machinery/wrk.ts';
import { startApache } from './apache.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 5);
const only = process.argv[4]?.split(',');
const here = import.meta.dirname;
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const secureKey = 'benchKey0123456789abc';
const SIGNED_REQUESTS = 30_000;
const MANY_TOKENS = 10_000;
const CONNECTIONS = 64;
const events = availableEvents();

interface Subject {
  readonly url: string;
  readonly requestFile: string;
  /** Its processes, by name. */
  readonly pids: Measured['cpuMicroseconds'];
}

const LIST = '/api/device?pageSize=20&pageIndex=0';
const QUESTION = '/_verify?scope=device:read';
/** The upstream answers with 200 bytes, except here. */
const LARGE = '/api/v1/device/large/_detail';
const LARGE_BYTES = 30_000;

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** Writes GET requests, one for each set of headers. */
function requestFile(
  name: string,
  path: string,
  headers: readonly BenchRequest['headers'][],
): string {
  return writeRequests(
    join(directory, name),
    headers.map((each) => ({ method: 'GET', path, headers: each })),
  );
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Each request has a different signature, as those of clients do. */
function signatures(signedText: string): BenchRequest['headers'][] {
  const now = Date.now();
  return Array.from({ length: SIGNED_REQUESTS }, (_, index) => {
    const timestamp = String(now - index);
    const sign = createHash('sha256').update(`${signedText}${timestamp}${secureKey}`).digest('hex');
    return { 'X-Client-Id': 'bench', 'X-Timestamp': timestamp, 'X-Sign': sign };
  });
}

async function startGateway(upstreamPort: number, redisPort: number) {
  const masterKey = randomBytes(32);
  const port = await freePort();
  const bootstrap = {
    organizations: [{ id: 'bench', name: 'Bench' }],
    clients: [
      { clientId: 'bench', secureKey, name: 'Bench', orgId: 'bench', scopes: ['device:read'] },
    ],
  };
  const gateway = await startNode(
    CORE_MEASURED,
    process.env.GATEWAY_MAIN ?? join(here, '../../apps/gateway/src/main.ts'),
    [],
    {
      log: process.env.KEEP_LOG ?? join(directory, 'gateway.log'),
      env: {
        GATEWAY_PORT: String(port),
        OPERATIONS_PORT: String(await freePort()),
        STORE_URL: `redis://127.0.0.1:${redisPort}`,
        DATA_DIR: directory,
        MASTER_KEY_FILE: file('master.key', masterKey.toString('hex')),
        BOOTSTRAP_FILE: file('bootstrap.json', JSON.stringify(bootstrap)),
        DEVICE_SERVICE_URL: `http://127.0.0.1:${upstreamPort}`,
        FORWARD_AUTH: 'true',
        TRUSTED_PROXIES: '127.0.0.1',
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
    await store.set(credentialKey('AccessToken', credentialHash(token)), text, 7200);
  }
  await store.close();
  const subject = (requests: string): Subject => ({
    url: `http://127.0.0.1:${port}`,
    requestFile: requests,
    pids: { gateway: gateway.pid ?? 0 },
  });
  const [token = ''] = tokens;
  const question = { 'X-Original-Method': 'GET', 'X-Original-URI': LIST };
  const subjects = [
    subject(requestFile('bearer', LIST, [bearer(token)])),
    subject(requestFile('bearer-large', LARGE, [bearer(token)])),
    subject(requestFile('bearers', LIST, tokens.map(bearer))),
    subject(requestFile('signed', LIST, signatures('pageIndex=0&pageSize=20'))),
    subject(requestFile('signed-large', LARGE, signatures(''))),
    subject(requestFile('verify', QUESTION, [{ ...bearer(token), ...question }])),
  ];
  return { subjects, port, token, process: gateway };
}

async function prepare(): Promise<Map<string, Subject>> {
  const ports = await Promise.all(Array.from({ length: 11 }, freePort));
  const [upstream = 0, redis = 0, plain = 0, asking = 0, ...more] = ports;
  const [node = 0, undici = 0, verifier = 0, apache = 0, introspection = 0, ...asked] = more;
  const [verifying = 0, caching = 0] = asked;
  const reply = JSON.stringify({
    status: 200,
    code: 'success',
    result: [],
    padding: 'x'.repeat(140),
  });
  startNginx(
    CORE_LOAD,
    join(directory, 'upstream'),
    `open_file_cache max=10;
     server { listen 127.0.0.1:${upstream}; default_type application/json;
       location / { return 200 '${reply}'; }
       location = ${LARGE} { alias ${file('large.json', JSON.stringify('x'.repeat(LARGE_BYTES)))}; } }`,
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
  const startAsking = (name: string, port: number, verifierPort: number, ask: string) =>
    startNginx(
      CORE_MEASURED,
      join(directory, name),
      `${behind} upstream verifier { server 127.0.0.1:${verifierPort}; keepalive 256; }
     proxy_cache_path ${join(directory, name)}/cache keys_zone=verifications:10m use_temp_path=off;
     map $msec $moment {
       "~^(?<tenth>[0-9]+[.][0-9])[0-4]" "\${tenth}0";
       "~^(?<tenth>[0-9]+[.][0-9])[5-9]" "\${tenth}5";
     }
     server { listen 127.0.0.1:${port};
       location / { auth_request /verify; ${proxy} }
       location = /verify { internal; ${ask} proxy_http_version 1.1;
         proxy_set_header Connection ""; proxy_pass_request_body off; proxy_set_header Content-Length ""; } }`,
    );
  const askingNginx = startAsking('asking', asking, verifier, 'proxy_pass http://verifier;');
  const { certificateFile, keyFile } = makeCertificate(directory, ['127.0.0.1']);
  const verifierNode = await startNode(CORE_MEASURED, join(here, 'token-verifier.ts'), [
    String(verifier),
    String(introspection),
    certificateFile,
    keyFile,
    known,
  ]);
  const apacheProxy = startApache(CORE_MEASURED, join(directory, 'apache'), {
    port: apache,
    upstream,
    verifier: introspection,
  });
  const nodeHttp = await startNode(CORE_MEASURED, join(here, 'node-http.ts'), [String(node)]);
  const undiciProxy = await startNode(CORE_MEASURED, join(here, 'undici-dispatch.ts'), [
    String(undici),
    String(upstream),
  ]);
  const gateway = await startGateway(upstream, redis);
  const [oneToken, oneTokenLarge, tokens, signed, signedLarge, direct] = gateway.subjects;
  const question =
    `proxy_pass http://verifier${QUESTION}; proxy_set_header X-Original-Method $request_method; ` +
    'proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Forwarded-For $remote_addr;';
  const verifyingNginx = startAsking('verifying', verifying, gateway.port, question);
  const cachingNginx = startAsking(
    'caching',
    caching,
    gateway.port,
    `${question} proxy_cache verifications; proxy_ignore_headers Cache-Control; proxy_cache_valid 200 1s; proxy_cache_lock on; proxy_cache_lock_timeout 0s;
       proxy_cache_key "$moment $request_method $request_uri $remote_addr $http_authorization";`,
  );
  const gatewayRequest = requestFile('gateway', LIST, [bearer(gateway.token)]);
  const knownRequest = requestFile('known', LIST, [bearer(known)]);
  const knownLarge = requestFile('known-large', LARGE, [bearer(known)]);
  const peer = (
    port: number,
    requests: string,
    proxy: ChildProcess,
    verifier?: ChildProcess,
  ): Subject => ({
    url: `http://127.0.0.1:${port}`,
    requestFile: requests,
    pids: { proxy: proxy.pid ?? 0, ...(verifier && { verifier: verifier.pid ?? 0 }) },
  });
  const subjects: [string, Subject | undefined][] = [
    ['nginx', peer(plain, knownRequest, plainNginx)],
    ['nginx-30kB', peer(plain, knownLarge, plainNginx)],
    ['node-http', peer(node, knownRequest, nodeHttp)],
    ['undici-dispatch', peer(undici, knownRequest, undiciProxy)],
    ['nginx-auth-request', peer(asking, knownRequest, askingNginx, verifierNode)],
    ['verify', direct],
    ['nginx-verify', peer(verifying, gatewayRequest, verifyingNginx, gateway.process)],
    ['nginx-verify-cached', peer(caching, gatewayRequest, cachingNginx, gateway.process)],
    ['apache-openidc', apacheProxy && peer(apache, knownRequest, apacheProxy, verifierNode)],
    ['gateway-bearer', oneToken],
    ['gateway-bearer-30kB', oneTokenLarge],
    ['gateway-bearer-10000-tokens', tokens],
    ['gateway-signed', signed],
    ['gateway-signed-30kB', signedLarge],
  ];
  return new Map(
    subjects.flatMap(([name, subject]) =>
      subject !== undefined && (only === undefined || only.includes(name)) ? [[name, subject]] : [],
    ),
  );
}

function measureSubject(
  { url, requestFile, pids }: Subject,
  duration: number,
  refusedShare = 0.01,
) {
  return measure({
    url,
    requestFile,
    pids: Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, [pid]])),
    connections: CONNECTIONS,
    seconds: duration,
    core: CORE_LOAD,
    events,
    refusedShare,
  });
}

/** Records the memory of a subject under load every 10 s, after 10 s of warm-up. */
function soak(subjects: ReadonlyMap<string, Subject>, duration: number): void {
  for (const [name, subject] of subjects) {
    console.log(`${name}: resident MiB every 10 s, and requests so far`);
    let count = 0;
    for (let second = -10; second < duration; second += 10) {
      count += measureSubject(subject, 10, 1).requests;
      console.log(
        `${second + 10} s: ${Math.round(residentMebibytes(subject.pids.gateway ?? subject.pids.proxy ?? 0))} ${count}`,
      );
    }
  }
}

const cpuOf = ({ cpuMicroseconds }: Measured) =>
  Object.values(cpuMicroseconds).reduce((sum, each) => sum + each, 0);

/** Prints the processor time of each process, for subjects with several. */
function printParts(results: ReadonlyMap<string, readonly Measured[]>): void {
  for (const [name, all] of results) {
    const [first] = all;
    const parts = Object.keys(first?.cpuMicroseconds ?? {});
    if (parts.length > 1) {
      const texts = parts.map((part) => {
        const times = all.map(({ cpuMicroseconds }) => cpuMicroseconds[part] ?? 0);
        return `${part} ${median(times).toFixed(1)} (minimum ${Math.min(...times).toFixed(1)})`;
      });
      console.log(`${name}: CPU µs per request: ${texts.join(', ')}`);
    }
  }
}

/** Prints the ratios of the goal of forward auth (README.md): by the rate and by processor time. */
function printGoal(results: ReadonlyMap<string, readonly Measured[]>): void {
  const base = results.get('nginx-auth-request') ?? [];
  for (const name of ['verify', 'nginx-verify', 'nginx-verify-cached']) {
    const all = results.get(name) ?? [];
    if (all.length > 0 && base.length > 0) {
      const rate = (of: readonly Measured[]) => median(of.map((each) => each.requestsPerSecond));
      const byRate = rate(all) / rate(base);
      const byMedian = median(base.map(cpuOf)) / median(all.map(cpuOf));
      const byMinimum = Math.min(...base.map(cpuOf)) / Math.min(...all.map(cpuOf));
      const ratios = [byRate, byMedian, byMinimum].map((ratio) => ratio.toFixed(2));
      console.log(`${name} ÷ nginx-auth-request: rate, CPU median, minimum: ${ratios.join(', ')}`);
    }
  }
}

try {
  const subjects = await prepare();
  if (process.env.MEMORY_COMPETITOR === 'true') {
    await startNode(CORE_LOAD, join(here, '../machinery/memory-competitor.ts'), []);
  }
  if (process.env.SOAK_SECONDS !== undefined) {
    soak(subjects, Number(process.env.SOAK_SECONDS));
  }
  const results = new Map([...subjects.keys()].map((name): [string, Measured[]] => [name, []]));
  for (const subject of subjects.values()) {
    measureSubject(subject, 2);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, subject] of subjects) {
      results.get(name)?.push(measureSubject(subject, seconds));
    }
  }
  const medians = new Map(
    [...results].map(([name, all]) => [
      name,
      {
        rate: median(all.map((each) => each.requestsPerSecond)),
        cpu: median(all.map((each) => cpuOf(each))),
        // The minimum is the sample that other load disturbed least.
        least: Math.min(...all.map((each) => cpuOf(each))),
        p99: median(all.map((each) => each.p99Milliseconds)),
        refused: all.reduce((sum, each) => sum + each.refused, 0),
        counts: events.map((event) => median(all.map((each) => each.events[event] ?? Number.NaN))),
      },
    ]),
  );
  const base = medians.get('undici-dispatch');
  const titles = ['Subject', 'requests/s', 'CPU µs per request', 'minimum', 'p99 ms', 'not 2xx'];
  const ratioTitles = ['rate ÷ undici', 'minimum CPU: undici ÷ this'];
  const eventTitles = events.map((event) => `${event} per request`);
  const columns = [...titles, ...ratioTitles, ...eventTitles];
  console.log(`| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`);
  for (const [name, { rate, cpu, least, p99, refused, counts }] of medians) {
    const ratios = base
      ? [(rate / base.rate).toFixed(2), (base.least / least).toFixed(2)]
      : ['', ''];
    console.log(
      `| ${[name, rate.toFixed(0), cpu.toFixed(1), least.toFixed(1), p99.toFixed(1), refused, ...ratios, ...counts.map((count) => count.toFixed(count < 100 ? 2 : 0))].join(' | ')} |`,
    );
  }
  printGoal(results);
  printParts(results);
} finally {
  await stopAll();
  rmSync(directory, { recursive: true, force: true });
}
