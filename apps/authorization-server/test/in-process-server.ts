import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyBootstrap, bootstrapDefinition, openIdentity } from '@gatehouse/identity';
import { createLogger, observeRequests } from '@gatehouse/server';
import { createStore } from '@gatehouse/store';
import {
  type Around,
  freePort,
  type StoreEngineName,
  startStoreEngine,
  wrappedStore,
} from '@gatehouse/testing';
import { afterAll } from '@jest/globals';
import { type AppDependencies, createApp } from '../src/app.ts';
import { installation } from './installation.ts';
import { callsTo } from './server.ts';

const now = Date.now;
let aheadMilliseconds = 0;
// The store and the server keep the clock of the time when they open.
Date.now = () => now() + aheadMilliseconds;

/** Advances the clock of this process, but not its timers. */
export function advanceSeconds(seconds: number): void {
  aheadMilliseconds += seconds * 1000;
}

/**
 * Starts an authorization server in the process of the tests of a file. They can advance its clock,
 * and change or close its store.
 */
export async function startInProcess(
  options: {
    readonly engine?: StoreEngineName;
    /** It differs from the address behind a proxy. */
    readonly issuer?: string;
    /** The public origin of the console. */
    readonly consoleUrl?: string;
    /** Settings of the app. */
    readonly app?: Partial<AppDependencies>;
    /** Delays the operations of the store, or replaces them by errors. */
    readonly aroundStore?: Around;
  } = {},
) {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-in-process-'));
  const running = await startStoreEngine(options.engine ?? 'sqlite');
  const opened = createStore(running.storeUrl);
  const store = options.aroundStore ? wrappedStore(opened, options.aroundStore) : opened;
  const masterKey = randomBytes(32);
  const { consoleUrl } = options;
  const identity = openIdentity({ store, masterKey, consoleUrl, now: () => Date.now() });
  const port = await freePort();
  const address = `http://localhost:${port}`;
  const { issuer = address } = options;
  const bootstrapFile = join(directory, 'bootstrap.json');
  await writeFile(bootstrapFile, JSON.stringify(installation));
  const source = { bootstrapFile, dataDirectory: directory, embedded: true, publicUrl: issuer };
  const definition = bootstrapDefinition(source);
  if (definition !== undefined) {
    await applyBootstrap(definition, identity);
  }
  const app = await createApp({
    identity,
    masterKey,
    issuer,
    cookieKeys: [randomBytes(32).toString('hex')],
    securityProfile: 'compatible',
    ...options.app,
  });
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const logger = createLogger({ app: 'test', level: 'info', destination });
  const server = createServer(observeRequests(app, logger)).listen(port);
  await once(server, 'listening');
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await identity.audit.flush().catch(() => undefined);
    await store.close();
    await running.stop();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    ...callsTo(issuer),
    address,
    identity,
    masterKey,
    store,
    /** One line per finished request. */
    logLines: () => lines.map((line) => JSON.parse(line)),
  };
}
