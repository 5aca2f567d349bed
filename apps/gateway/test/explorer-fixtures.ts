import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { applyBootstrap, demoDefinition, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { processEnvironment } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import { build } from 'esbuild';

const run = promisify(execFile);

export const demo = {
  clientId: 'demo',
  secureKey: 'explorerKey-0123456789abcdef',
  redirectUri: 'http://localhost:9010/callback',
  username: 'alice',
  password: 'correct horse battery staple',
};

/** The three servers, with the demo and its client for the explorer. */
export async function startExplorerSystem() {
  const system = await startSystem({ engine: 'sqlite', bootstrap: {} });
  const store = createStore(system.storeUrl);
  try {
    const identity = openIdentity({ store, masterKey: system.masterKey });
    await applyBootstrap(demoDefinition(demo, system.gatewayUrl), identity);
  } finally {
    await store.close();
  }
  return system;
}

export type Language = 'curl' | 'javascript';

/** Runs copied code as a developer does, with the secret in the environment. */
export async function createCodeRunner() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-explorer-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  await build({
    entryPoints: [join(import.meta.dirname, '../../../packages/client/src/index.ts')],
    outfile: join(folder, 'node_modules/@gatehouse/client/index.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
  });
  await writeFile(
    join(folder, 'node_modules/@gatehouse/client/package.json'),
    '{"name":"@gatehouse/client","exports":"./index.mjs"}',
  );
  const programs = {
    curl: ['sh', 'call.sh'],
    javascript: [process.execPath, 'call.mjs'],
  } as const;
  return async (language: Language, code: string, secrets: Readonly<Record<string, string>>) => {
    const [program, file] = programs[language];
    await writeFile(join(folder, file), code);
    const env = { ...processEnvironment, ...secrets };
    return (await run(program, [file], { cwd: folder, env })).stdout;
  };
}
