import { join } from 'node:path';
import { freePort } from '@gatehouse/testing';
import { startNode } from '../machinery/processes.ts';
import { secureKeys } from '../whole-path/cases.ts';
import { startSystem } from '../whole-path/system.ts';

/** The server that the subjects call. */
export interface Target {
  readonly gateway: string;
  readonly path: string;
  readonly clientId: string;
  readonly secureKey: string;
  readonly token: string;
  readonly pids: readonly number[];
}

/** Replies at once, to any credential. */
export async function startSmallServer(): Promise<Target> {
  const port = await freePort();
  const secureKey = 'benchmarkKey0123456789abcdef';
  const script = join(import.meta.dirname, 'server.ts');
  const server = await startNode(undefined, script, [String(port), secureKey]);
  return {
    gateway: `http://127.0.0.1:${port}`,
    path: '/api/device?pageSize=10&pageIndex=0',
    clientId: 'bench',
    secureKey,
    token: 'x'.repeat(43),
    pids: [server.pid ?? 0],
  };
}

/** The gateway and the device service of this checkout, on SQLite. */
export async function startGateway(directory: string): Promise<Target> {
  const system = await startSystem({
    engines: 'embedded',
    checkout: join(import.meta.dirname, '../..'),
    directory,
  });
  return {
    gateway: system.url,
    path: '/api/device',
    clientId: 'read',
    secureKey: secureKeys.read,
    token: system.tokens.read,
    pids: Object.values(system.pids()).flat(),
  };
}
