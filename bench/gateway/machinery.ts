/**
 * Starts processes that are pinned to cores, and measures one of them: wrk runs on core 1, and the
 * CPU time of the measured process is recorded.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CORE_MEASURED = 0;
export const CORE_LOAD = 1;

const children: ChildProcess[] = [];

export function start(
  core: number,
  command: string,
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly log?: string } = {},
): ChildProcess {
  const output = options.log === undefined ? 'ignore' : openSync(options.log, 'w');
  const child = spawn('taskset', ['-c', String(core), command, ...args], {
    stdio: ['ignore', output, 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH ?? '',
      // For a profile, set CHILD_OPTIONS='--cpu-prof --cpu-prof-dir=…'.
      ...(process.env.CHILD_OPTIONS && { NODE_OPTIONS: process.env.CHILD_OPTIONS }),
      ...options.env,
    },
  });
  children.push(child);
  return child;
}

export async function startNode(
  script: string,
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly log?: string } = {},
): Promise<ChildProcess> {
  const child = start(CORE_MEASURED, process.execPath, [script, ...args], options);
  await once(child, 'message');
  return child;
}

/** Starts nginx with one worker in the foreground. */
export function startNginx(core: number, directory: string, server: string): ChildProcess {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 100000000;
  client_body_temp_path ${directory}/a; proxy_temp_path ${directory}/b; fastcgi_temp_path ${directory}/c;
  uwsgi_temp_path ${directory}/d; scgi_temp_path ${directory}/e;
  ${server}
}`,
  );
  return start(core, 'nginx', ['-p', directory, '-c', file]);
}

const APACHE_MODULES = '/usr/lib/apache2/modules';

/**
 * Starts Apache in the foreground with one process of threads. mod_auth_openidc introspects tokens
 * and caches the results. Returns undefined if it is not installed.
 */
export function startApache(
  core: number,
  directory: string,
  {
    port,
    upstream,
    verifier,
  }: { readonly port: number; readonly upstream: number; readonly verifier: number },
): ChildProcess | undefined {
  if (!existsSync(join(APACHE_MODULES, 'mod_auth_openidc.so'))) {
    return undefined;
  }
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'apache.conf');
  const modules = 'mpm_event authn_core authz_core authz_user auth_openidc proxy proxy_http';
  const loaded = modules
    .split(' ')
    .map((name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`);
  writeFileSync(
    file,
    `${loaded.join('\n')}
ServerName bench
ServerRoot ${directory}
PidFile ${directory}/pid
ErrorLog ${directory}/error.log
Listen 127.0.0.1:${port}
StartServers 1
ServerLimit 1
ThreadLimit 128
ThreadsPerChild 128
MaxRequestWorkers 128
KeepAlive On
MaxKeepAliveRequests 0
OIDCCryptoPassphrase bench
OIDCCacheType shm
OIDCOAuthClientID bench
OIDCOAuthClientSecret bench
OIDCOAuthIntrospectionEndpoint https://127.0.0.1:${verifier}/introspect
OIDCOAuthSSLValidateServer Off
<Location />
  AuthType oauth20
  Require valid-user
  ProxyPass http://127.0.0.1:${upstream}/
</Location>
`,
  );
  return start(core, 'apache2', ['-D', 'FOREGROUND', '-f', file]);
}

/** Creates a key and a self-signed certificate in one file. */
export function makeCertificate(file: string): string {
  const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1';
  const output = ['-subj', '/CN=127.0.0.1', '-keyout', '-', '-out', '-'];
  const pem = execFileSync('openssl', ['req', ...options.split(' '), ...output], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  writeFileSync(file, pem, { mode: 0o600 });
  return file;
}

export function stopAll(): void {
  for (const child of children) {
    child.kill('SIGTERM');
  }
}

export interface Measured {
  readonly requestsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly p99Milliseconds: number;
  /** Replies other than 2xx. */
  readonly refused: number;
}

/** @param pids the processes whose CPU time counts */
export function measure(
  url: string,
  requests: string,
  pids: readonly number[],
  seconds: number,
  { refusedPart = 0.01 }: { readonly refusedPart?: number } = {},
): Measured {
  const before = cpuSeconds(pids);
  const script = join(import.meta.dirname, 'requests.lua');
  const output = execFileSync(
    'taskset',
    [
      '-c',
      String(CORE_LOAD),
      'wrk',
      '-t1',
      '-c64',
      `-d${seconds}s`,
      '--latency',
      '-s',
      script,
      url,
      '--',
      requests,
    ],
    { encoding: 'utf8' },
  );
  const count = Number(/(\d+) requests in/.exec(output)?.[1]);
  const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0);
  // On a busy machine, a few store commands may miss their deadline. More than that invalidates the
  // measurement.
  if (refused > count * refusedPart) {
    throw new Error(output);
  }
  const [, p99 = '0', unit = 'ms'] = /99%\s+([\d.]+)(us|ms|s)/.exec(output) ?? [];
  return {
    refused,
    requestsPerSecond: Math.round(Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])),
    cpuMicroseconds: ((cpuSeconds(pids) - before) * 1e6) / count,
    p99Milliseconds: Number(p99) * ({ us: 0.001, ms: 1, s: 1000 }[unit] ?? 1),
  };
}

/** User and system time of the processes and their children. The kernel counts in hundredths. */
function cpuSeconds(pids: readonly number[]): number {
  return pids
    .flatMap((pid) => [pid, ...childrenOf(pid)])
    .map((pid) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) / 100;
    })
    .reduce((sum, each) => sum + each, 0);
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter((each) => each !== '')
      .map(Number),
  );
}

export function residentMebibytes(pid: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) / 1024;
}
