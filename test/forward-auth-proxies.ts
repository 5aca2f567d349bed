import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './source-tree.ts';
import { type RunningProxy, startProgram } from './tls-proxies.ts';

/** What replaces the addresses, ports and folders in the examples of deploy/forward-auth. */
export interface ProxyPlace {
  readonly directory: string;
  /** The proxy listens here without TLS. */
  readonly port: number;
  readonly gatewayPort: number;
  readonly servicePort: number;
}

export type StartProxy = (place: ProxyPlace) => Promise<RunningProxy>;

export const startNginx: StartProxy = (place) => runNginx(place, readExample('nginx.conf', place));

/** With a second server, writes.example, which shares the cache and requires another scope. */
export const startCachingNginx: StartProxy = (place) => {
  const example = readExample('nginx.conf', place).replaceAll('#cache ', '');
  const second = example
    .slice(example.indexOf('\nserver {'))
    .replace('server_name reports.example;', 'server_name writes.example;')
    .replace('scope=device:read&audience=reports', 'scope=device:write&audience=writes');
  return runNginx(place, `${example}${second}`);
};

function runNginx(place: ProxyPlace, example: string): Promise<RunningProxy> {
  const { directory, port } = place;
  const adapted = example
    .replaceAll('listen 443 ssl http2;', `listen 127.0.0.1:${port};`)
    .replaceAll(/ssl_certificate.*;/g, '')
    .replaceAll('/var/log/nginx/', `${directory}/`)
    .replaceAll('/run/nginx-verifications', `${directory}/verifications`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  const user = process.getuid?.() === 0 ? 'user root; ' : '';
  const file = write(
    place,
    'nginx.conf',
    `${user}daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/early.log;\n` +
      `events {}\nhttp { ${temporary}\n${adapted}\n}\n`,
  );
  return startProgram('nginx', ['-c', file, '-e', join(directory, 'early.log')], place);
}

export const startCaddy: StartProxy = (place) => {
  const adapted = readExample('Caddyfile', place)
    .replace(/^\{$/m, '{\n\tadmin off\n\tauto_https off')
    .replace('reports.example {', `http://127.0.0.1:${place.port} {`);
  const file = write(place, 'Caddyfile', adapted);
  return startProgram('caddy', ['run', '--adapter', 'caddyfile', '--config', file], place);
};

export const startHaproxy: StartProxy = (place) => {
  const script = write(place, 'verify.lua', readExample('verify.lua', place));
  const adapted = readExample('haproxy.cfg', place)
    .replace(/bind :443 .*/, `bind 127.0.0.1:${place.port}`)
    .replace('/etc/haproxy/verify.lua', script);
  return startProgram('haproxy', ['-f', write(place, 'haproxy.cfg', adapted)], place);
};

function readExample(name: string, { gatewayPort, servicePort }: ProxyPlace): string {
  return readFileSync(join(root, 'deploy/forward-auth', name), 'utf8')
    .replaceAll('127.0.0.1:8844', `127.0.0.1:${gatewayPort}`)
    .replaceAll('127.0.0.1:8870', `127.0.0.1:${servicePort}`);
}

function write({ directory }: ProxyPlace, name: string, content: string): string {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}
