/** A console in the process of the tests of a file, which can advance its clock and fail its store. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity, type SigningKeyPolicy } from '@gatehouse/identity';
import { createLogger, observeRequests } from '@gatehouse/server';
import { createStore } from '@gatehouse/store';
import {
  type Around,
  freePort,
  integrationEngines,
  type StoreEngineName,
  wrappedStore,
} from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import { createApp } from '../src/app.ts';
import { installation, newVisitor, operator, signInAt } from './installation.ts';

export type Console = Awaited<ReturnType<typeof startConsole>>;

export async function startConsole({
  engine = integrationEngines.at(-1) ?? 'sqlite',
  environment = {},
  aroundStore,
  signingKeyPolicy,
}: {
  readonly engine?: StoreEngineName;
  /** Of the authorization server. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly aroundStore?: Around;
  readonly signingKeyPolicy?: SigningKeyPolicy;
} = {}) {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const system = await startSystem({
    engine,
    apps: ['authorization-server'],
    bootstrap: installation,
    environment: { CONSOLE_URL: url, ...environment },
  });
  const opened = createStore(system.storeUrl);
  const store = aroundStore === undefined ? opened : wrappedStore(opened, aroundStore);
  const { masterKey, authorizationServerUrl: issuer } = system;
  const identity = openIdentity({ store, masterKey, consoleUrl: url });
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-console-'));
  const masterKeyFile = join(directory, 'master.key');
  await writeFile(masterKeyFile, masterKey.toString('hex'));
  let aheadMilliseconds = 0;
  const app = createApp({
    ...{
      identity,
      masterKey,
      masterKeyFile,
      issuer,
      internalUrl: issuer.replace('localhost', '127.0.0.1'),
      consoleUrl: url,
      trustedProxies: ['127.0.0.1', '::1'],
    },
    ...(signingKeyPolicy && { signingKeyPolicy }),
    now: () => Date.now() + aheadMilliseconds,
    pollMilliseconds: 50,
  });
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const logger = createLogger({ app: 'console', level: 'info', destination });
  const server = createServer(observeRequests(app, logger));
  await once(server.listen(port, 'localhost'), 'listening');
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await store.close();
    await rm(directory, { recursive: true });
  });
  return {
    url,
    issuer,
    identity,
    masterKey,
    store,
    masterKeyFile,
    storedText: system.storedText,
    log: () => lines.join(''),
    /** Of the console. The authorization server keeps the time. */
    setAhead(minutes: number): void {
      aheadMilliseconds = minutes * 60_000;
    },
    /** Signs in with an address of its own. @returns the visitor, and the page that opened */
    async signIn(path = '/organizations', user: { username: string; password: string } = operator) {
      const visitor = newVisitor();
      return { visitor, page: await signInAt(visitor, url + path, user) };
    },
  };
}
