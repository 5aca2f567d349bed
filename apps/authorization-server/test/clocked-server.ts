import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  applyBootstrap,
  bootstrapDefinition,
  type Identity,
  openIdentity,
} from '@gatehouse/identity';
import { createLogger, observeRequests } from '@gatehouse/server';
import { createStore } from '@gatehouse/store';
import { type StoreEngineName, startStoreEngine } from '@gatehouse/testing';
import { createApp } from '../src/app.ts';
import { grantsBootstrap } from './grants-fixtures.ts';

/** An authorization server in this process. A test can advance its clock, but not its timers. */
export interface ClockedServer {
  readonly issuer: string;
  readonly identity: Identity;
  advanceSeconds(seconds: number): void;
  stop(): Promise<void>;
}

export async function startClockedServer(engine: StoreEngineName): Promise<ClockedServer> {
  const now = Date.now;
  let offsetMilliseconds = 0;
  Date.now = () => now() + offsetMilliseconds;
  const running = await startStoreEngine(engine);
  const store = createStore(running.storeUrl);
  const masterKey = randomBytes(32);
  const identity = openIdentity({ store, masterKey, now: () => Date.now() });
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-'));
  const bootstrapFile = join(directory, 'bootstrap.json');
  await writeFile(bootstrapFile, JSON.stringify(grantsBootstrap));
  const definition = bootstrapDefinition({
    bootstrapFile,
    dataDirectory: directory,
    embedded: true,
    publicUrl: 'http://localhost',
  });
  if (definition !== undefined) {
    await applyBootstrap(definition, identity);
  }

  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const app = await createApp({
    identity,
    masterKey,
    issuer,
    cookieKeys: [randomBytes(32).toString('hex')],
    securityProfile: 'compatible',
  });
  const logger = createLogger({ app: 'test', level: 'silent', pretty: false });
  server.on('request', observeRequests(app, logger));
  return {
    issuer,
    identity,
    advanceSeconds: (seconds) => {
      offsetMilliseconds += seconds * 1000;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await store.close();
      await running.stop();
      await rm(directory, { recursive: true, force: true });
      Date.now = now;
    },
  };
}
