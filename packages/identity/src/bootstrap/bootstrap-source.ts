/**
 * What the store is filled with at a start.
 *
 *   bootstrap-source ─▶ load-bootstrap (file, secret files) ─▶ bootstrap-schema ─▶ definition
 *                    └▶ demo (random secrets, kept)         ─▶ bootstrap-schema ─▶ definition ─▶ apply-bootstrap
 *
 * Not here: what clients and users are (clients.ts, users.ts), and taking anything away: a file only adds and changes.
 */
import { existsSync } from 'node:fs';
import { ConfigurationError, isLoopbackUrl } from '@gatehouse/configuration';
import type { BootstrapDefinition } from './bootstrap-schema.ts';
import { demoDefinition, demoFile, readOrCreateDemo } from './demo.ts';
import { loadBootstrap } from './load-bootstrap.ts';

/** What an app knows of its own deployment when it decides what to start with. */
export interface BootstrapSettings {
  readonly bootstrapFile: string | undefined;
  readonly dataDirectory: string;
  /** No STORE_URL was given. */
  readonly embedded: boolean;
  /** The public address of the app. */
  readonly publicUrl: string;
}

/**
 * The file where there is one; the demo set on an embedded store of a loopback address; else nothing.
 *
 * @throws ConfigurationError when the file is wrong, or a public address would serve a store with the demo
 */
export function bootstrapDefinition(settings: BootstrapSettings): BootstrapDefinition | undefined {
  const { bootstrapFile, dataDirectory, embedded, publicUrl } = settings;
  const isProduction = !isLoopbackUrl(publicUrl);
  if (isProduction && embedded && existsSync(demoFile(dataDirectory))) {
    const message = 'holds the demo client and user, which a public address must not serve';
    throw new ConfigurationError([{ name: 'DATA_DIR', message }]);
  }
  if (bootstrapFile !== undefined) {
    return loadBootstrap(bootstrapFile);
  }
  return embedded && !isProduction ? demoDefinition(readOrCreateDemo(dataDirectory)) : undefined;
}
