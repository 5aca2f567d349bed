import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { listen } from './network/listen.ts';
import {
  type Constellation,
  type ConstellationOptions,
  startConstellation,
} from './servers/constellation.ts';
import { integrationEngines, type StoreEngineName } from './servers/store-engine.ts';

/** Starts a constellation for the tests of a file, which awaits it at its top level. */
export async function startSystem(options: ConstellationOptions): Promise<Constellation> {
  const system = await startConstellation(options);
  afterAll(() => system.stop());
  return system;
}

/** Starts such a constellation on each of the engines. */
export function startOnEachEngine(
  options: Omit<ConstellationOptions, 'engine'>,
  engines = integrationEngines,
) {
  return onEachEngine((engine) => startSystem({ engine, ...options }), engines);
}

/** Starts one system for each of the engines, all at the same time, for `describe.each`. */
export function onEachEngine<System>(
  start: (engine: StoreEngineName) => Promise<System>,
  engines = integrationEngines,
) {
  return Promise.all(engines.map(async (engine) => ({ engine, system: await start(engine) })));
}

/** Lets a server listen on a free port until the end of the tests of a file, which awaits it. */
export async function listenForTests(server: Server, host?: string): Promise<number> {
  const port = await listen(server, host);
  afterAll(() => {
    server.close();
    if ('closeAllConnections' in server) {
      (server as HttpServer).closeAllConnections();
    }
  });
  return port;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Makes a folder, and removes it after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  folders.push(folder);
  return folder;
}

/** Writes a new master key, which only its owner can read. @returns the path of the file */
export function writeMasterKey(folder: string, key: Buffer = randomBytes(32)): string {
  const path = join(folder, 'master.key');
  writeFileSync(path, key.toString('hex'), { mode: 0o600 });
  return path;
}
