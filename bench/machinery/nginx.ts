import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { start } from './processes.ts';

/** Starts nginx with one worker in the foreground. */
export function startNginx(
  core: number | undefined,
  directory: string,
  server: string,
): ChildProcess {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; user root; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log;
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
