/** Proxies with configurations that tests derive from examples. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { type Certificate, until } from '@gatehouse/testing';

export type RunningProxy = Awaited<ReturnType<typeof startProxy>>;

export function writeConfiguration(directory: string, name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

/** Writes the configuration of one worker, with its files in the folder. @returns the command */
export function writeNginx(directory: string, http: string): readonly string[] {
  const user = process.getuid?.() === 0 ? 'user root; ' : '';
  const early = join(directory, 'early.log');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  const file = writeConfiguration(
    directory,
    'nginx.conf',
    `${user}daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${early};\n` +
      `events {}\nhttp { ${temporary}\n${http.replaceAll('/var/log/nginx/', `${directory}/`)}\n}\n`,
  );
  return ['nginx', '-e', early, '-c', file];
}

export interface TlsPlace {
  readonly directory: string;
  readonly port: number;
  readonly certificate: Certificate;
  readonly example: string;
}

export function startTlsNginx({ directory, port, certificate, example }: TlsPlace) {
  const adapted = example
    .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
    .replace('/etc/ssl/gatehouse/fullchain.pem', certificate.certificateFile)
    .replace('/etc/ssl/gatehouse/privkey.pem', certificate.keyFile);
  return startProxy(writeNginx(directory, adapted), port);
}

/** Every site of the example listens on the port. */
export function startTlsCaddy({ directory, port, certificate, example }: TlsPlace) {
  const { certificateFile, keyFile } = certificate;
  const adapted = example
    .replace(/^\{$/m, '{\n\tadmin off\n\tskip_install_trust')
    .replaceAll(
      /^([a-z]+\.[a-z]+)(?::\d+)? \{$/gm,
      `https://$1:${port} {\n\tbind 127.0.0.1\n\ttls ${certificateFile} ${keyFile}`,
    );
  const file = writeConfiguration(directory, 'Caddyfile', adapted);
  return startProxy(['caddy', 'run', '--adapter', 'caddyfile', '--config', file], port);
}

/** Runs a command whose last word is a file in the folder of the proxy, until it listens. */
export async function startProxy(command: readonly string[], port: number) {
  const [program = '', ...parameters] = command;
  const directory = dirname(command.at(-1) ?? '');
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
  /** All of its log output, from files and streams. */
  const logged = () =>
    globSync(`${directory}/*.log`).reduce((text, log) => text + readFileSync(log, 'utf8'), output);
  const ended = once(child, 'close');
  const failure = ended.then(() => Promise.reject(new Error(`${program} ended:\n${logged()}`)));
  await Promise.race([failure, until(() => canConnect(port))]);
  failure.catch(() => undefined);
  return {
    logged,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}
