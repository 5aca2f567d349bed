import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  applyBootstrap,
  bootstrapDefinition,
  type Identity,
  openIdentity,
} from '@gatehouse/identity';
import { createLogger, observeRequests } from '@gatehouse/server';
import { createStore, type Store } from '@gatehouse/store';
import { type Around, freePort, wrappedStore } from '@gatehouse/testing';
import { type AppDependencies, createApp } from '../src/app.ts';
import type { SecurityProfile } from '../src/provider/clients.ts';

/**
 * An authorization server in the process of the test, which can set its clock and close its store.
 */
export interface InProcessServer {
  readonly issuer: string;
  /** The address that it listens on. It differs from the issuer behind a proxy. */
  readonly address: string;
  readonly identity: Identity;
  readonly store: Store;
  /** One log line per finished request. */
  logLines(): readonly Readonly<Record<string, unknown>>[];
  stop(): Promise<void>;
}

export async function startInProcess(
  options: {
    readonly issuer?: string;
    readonly securityProfile?: SecurityProfile;
    /** The content of the bootstrap file. Without it, the account page is the only client. */
    readonly bootstrap?: unknown;
    /** Further settings of the app. */
    readonly app?: Pick<AppDependencies, 'clientRateLimit' | 'pageRateLimit' | 'trustedProxies'>;
    /** Delays the operations of the store, or replaces them by errors. */
    readonly aroundStore?: Around;
  } = {},
): Promise<InProcessServer> {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-in-process-'));
  const opened = createStore(`sqlite:${join(directory, 'store.sqlite')}`);
  const store = options.aroundStore ? wrappedStore(opened, options.aroundStore) : opened;
  const masterKey = randomBytes(32);
  const identity = openIdentity({ store, masterKey });
  const port = await freePort();
  const address = `http://localhost:${port}`;
  const { issuer = address, securityProfile = 'compatible' } = options;
  if (options.bootstrap !== undefined) {
    const bootstrapFile = join(directory, 'bootstrap.json');
    await writeFile(bootstrapFile, JSON.stringify(options.bootstrap));
    const definition = bootstrapDefinition({
      bootstrapFile,
      dataDirectory: directory,
      embedded: true,
      publicUrl: issuer,
    });
    if (definition !== undefined) {
      await applyBootstrap(definition, identity);
    }
  }
  const app = await createApp({
    identity,
    masterKey,
    issuer,
    cookieKeys: [randomBytes(32).toString('hex')],
    securityProfile,
    ...options.app,
  });
  const lines: string[] = [];
  const logger = createLogger({
    app: 'test',
    level: 'info',
    pretty: false,
    destination: { write: (line) => lines.push(line) },
  });
  const server = createServer(observeRequests(app, logger)).listen(port);
  await once(server, 'listening');
  return {
    issuer,
    address,
    identity,
    store,
    logLines: () => lines.map((line) => JSON.parse(line)),
    async stop() {
      server.closeAllConnections();
      server.close();
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
