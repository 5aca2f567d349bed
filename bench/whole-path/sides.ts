/** The systems that `run.ts` compares. */
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@gatehouse/testing';
import { startNginx } from '../machinery/nginx.ts';
import { startNode } from '../machinery/processes.ts';
import { type Engines, recordReplies, type System, startSystem } from './system.ts';

const ROOT = join(import.meta.dirname, '../..');

export type SideName = 'before' | 'after' | 'socket' | 'bare' | 'paced' | 'floor';

export interface Side {
  readonly name: SideName;
  readonly url: () => string;
  readonly pids: () => Readonly<Record<string, readonly number[]>>;
  readonly tokens: System['tokens'];
  readonly restart?: () => Promise<void>;
  readonly truncateLogs?: () => void;
  /** Sets the processor time that each request takes behind the gateway. */
  readonly pace?: (microseconds: number) => void;
}

interface SidesOptions {
  readonly engines: Engines;
  /** The checkout of the earlier commit. */
  readonly earlier: string | undefined;
  readonly directory: string;
  readonly wanted: readonly SideName[];
}

export async function startSides(options: SidesOptions): Promise<readonly Side[]> {
  const { engines, earlier, directory, wanted } = options;
  const start = (name: string, checkout: string) =>
    startSystem({ engines, checkout, directory: join(directory, `${engines}-${name}`) });
  const after = await start('after', ROOT);
  const sides = [systemSide('after', after)];
  if (earlier !== undefined) {
    sides.unshift(systemSide('before', await start('before', earlier)));
  }
  if (wanted.includes('socket')) {
    const system = await startSystem({
      engines,
      checkout: ROOT,
      directory: join(directory, `${engines}-socket`),
      deviceServiceSocket: join(directory, `${engines}.sock`),
    });
    sides.push(systemSide('socket', system));
  }
  const file = join(directory, 'replies.json');
  writeFileSync(file, JSON.stringify(await recordReplies(after)));
  const bareServer = await startBareServer(file);
  if (wanted.includes('bare')) {
    sides.push(await bareSide('bare', after, bareServer));
  }
  if (wanted.includes('paced')) {
    const server = await startBareServer(file);
    const pace = (microseconds: number) => server.child.send(microseconds);
    sides.push({ ...(await bareSide('paced', after, server)), pace });
  }
  if (wanted.includes('floor')) {
    sides.push(await floorSide(after, bareServer, join(directory, `${engines}-nginx`)));
  }
  return sides.filter(({ name }) => wanted.includes(name));
}

function systemSide(name: SideName, system: System): Side {
  return { ...system, name, url: () => system.url };
}

interface BareServer {
  readonly port: number;
  readonly child: ChildProcess;
}

async function startBareServer(replies: string): Promise<BareServer> {
  const port = await freePort();
  const script = join(import.meta.dirname, 'bare-server.ts');
  return { port, child: await startNode(undefined, script, [String(port), replies]) };
}

/** The gateway of a system in front of a bare server. */
async function bareSide(name: SideName, system: System, server: BareServer): Promise<Side> {
  const gateway = await system.startGatewayFor(`http://127.0.0.1:${server.port}`);
  const pids = { gateway: [gateway.pid], 'bare server': [server.child.pid ?? 0] };
  return { name, url: () => gateway.url, pids: () => pids, tokens: system.tokens };
}

async function floorSide({ tokens }: System, server: BareServer, directory: string): Promise<Side> {
  const port = await freePort();
  const nginx = startNginx(
    undefined,
    directory,
    `upstream behind { server 127.0.0.1:${server.port}; keepalive 256; }
     server { listen 127.0.0.1:${port}; location / { proxy_pass http://behind;
       proxy_http_version 1.1; proxy_set_header Connection ""; } }`,
  );
  await sleep(300);
  const pids = { nginx: [nginx.pid ?? 0], 'bare server': [server.child.pid ?? 0] };
  return { name: 'floor', url: () => `http://127.0.0.1:${port}`, pids: () => pids, tokens };
}
