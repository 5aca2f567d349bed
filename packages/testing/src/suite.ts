import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
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

/** Makes a folder for the tests of a file or of a `describe`, and removes it after them. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a new master key, which only its owner can read. @returns the path of the file */
export function writeMasterKey(folder: string, key: Buffer = randomBytes(32)): string {
  const path = join(folder, 'master.key');
  writeFileSync(path, key.toString('hex'), { mode: 0o600 });
  return path;
}
