import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Certificate } from '@gatehouse/testing';
import { readDocument } from './documents.ts';

/**
 * The paths, ports and certificate that replace those in the examples of docs/operations/deploy.md.
 */
export interface ProxyPlace {
  readonly directory: string;
  readonly port: number;
  readonly certificate: Certificate;
  readonly authorizationServerPort: string;
  readonly gatewayPort: string;
}

export interface RunningProxy {
  /** All of its log output, from files and streams. */
  logged(): string;
  stop(): Promise<void>;
}

/**
 * nginx connects from this address, so that other addresses of this machine are not trusted
 * proxies.
 */
export const NGINX_ADDRESS = '127.0.0.2';

export function startNginx(place: ProxyPlace): Promise<RunningProxy> {
  const { certificate } = place;
  const example = exampleOf('nginx', place)
    .replaceAll('listen 443 ', `listen 127.0.0.1:${place.port} `)
    .replaceAll('/var/log/nginx/', `${place.directory}/`)
    .replace('/etc/ssl/gatehouse/fullchain.pem', certificate.certificateFile)
    .replace('/etc/ssl/gatehouse/privkey.pem', certificate.keyFile);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${place.directory}/${name};`)
    .join(' ');
  const file = write(
    place,
    'nginx.conf',
    // The workers buffer bodies in a folder of the test.
    `${process.getuid?.() === 0 ? 'user root; ' : ''}daemon off; worker_processes 1; pid ${place.directory}/nginx.pid; error_log ${place.directory}/early.log;\n` +
      `events {}\nhttp { ${temporary} proxy_bind ${NGINX_ADDRESS};\n${example}\n}\n`,
  );
  return startProgram('nginx', ['-c', file, '-e', join(place.directory, 'early.log')], place);
}

export function startCaddy(place: ProxyPlace): Promise<RunningProxy> {
  const { certificateFile, keyFile } = place.certificate;
  const example = exampleOf('caddy', place)
    .replace(/^\{$/m, '{\n\tadmin off\n\tskip_install_trust')
    .replaceAll(
      /^(auth|gateway)\.example \{$/gm,
      `https://$1.example:${place.port} {\n\tbind 127.0.0.1\n\ttls ${certificateFile} ${keyFile}`,
    );
  const file = write(place, 'Caddyfile', example);
  return startProgram('caddy', ['run', '--adapter', 'caddyfile', '--config', file], place);
}

function exampleOf(language: string, place: ProxyPlace): string {
  const { text } = readDocument('docs/operations/deploy.md');
  const example = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
  if (example === undefined) {
    throw new Error(`docs/operations/deploy.md has no example in ${language}.`);
  }
  return example
    .replaceAll('127.0.0.1:9000', `127.0.0.1:${place.authorizationServerPort}`)
    .replaceAll('127.0.0.1:8844', `127.0.0.1:${place.gatewayPort}`);
}

function write({ directory }: ProxyPlace, name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

/** Resolves when the program listens on its port. */
export async function startProgram(
  program: string,
  parameters: readonly string[],
  { directory, port }: Pick<ProxyPlace, 'directory' | 'port'>,
): Promise<RunningProxy> {
  const child = spawn(program, parameters, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: directory },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const logged = () =>
    globSync(`${directory}/*.log`).reduce((text, log) => text + readFileSync(log, 'utf8'), output);
  const ended = once(child, 'close');
  await listens(child, port, logged);
  return {
    logged,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function listens(child: ChildProcess, port: number, logged: () => string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (child.exitCode !== null) {
      break;
    }
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) {
      return;
    }
    await sleep(25);
  }
  throw new Error(`The proxy does not listen:\n${logged()}`);
}
