/**
 * The definition that a server applies to the store when it starts.
 *
 *   bootstrap-source ─▶ load-bootstrap (file, secret files) ─▶ bootstrap-schema ─┐
 *                    └▶ demo (random secrets, stored)       ─▶ bootstrap-schema ─┴▶ apply-bootstrap
 *
 * Not here: deleting records. A definition only adds and changes them.
 */
import { existsSync } from 'node:fs';
import { ConfigurationError, isLoopbackUrl } from '@gatehouse/server/configuration';
import type { BootstrapDefinition } from './bootstrap-schema.ts';
import { demoDefinition, demoFile, readOrCreateDemo } from './demo.ts';
import { loadBootstrap } from './load-bootstrap.ts';

/** The settings that select the definition. */
export interface BootstrapSettings {
  readonly bootstrapFile: string | undefined;
  readonly dataDirectory: string;
  /** STORE_URL is not set. */
  readonly embedded: boolean;
  /** The public address of the app. */
  readonly publicUrl: string;
  /** Adds the client of the API explorer at this gateway to the demo. */
  readonly gatewayUrl?: string;
}

/**
 * The bootstrap file if it is set. Otherwise, the demo if the store is embedded and the address is
 * a loopback address.
 *
 * @throws ConfigurationError if the file is invalid, or a public address would serve the demo
 */
export function bootstrapDefinition(settings: BootstrapSettings): BootstrapDefinition | undefined {
  const { bootstrapFile, dataDirectory, embedded, publicUrl, gatewayUrl } = settings;
  const isProduction = !isLoopbackUrl(publicUrl);
  if (isProduction && embedded && existsSync(demoFile(dataDirectory))) {
    const message = 'contains the demo client and user, which a public address must not serve';
    throw new ConfigurationError([{ name: 'DATA_DIR', message }]);
  }
  if (bootstrapFile !== undefined) {
    return loadBootstrap(bootstrapFile);
  }
  return embedded && !isProduction
    ? demoDefinition(readOrCreateDemo(dataDirectory), gatewayUrl)
    : undefined;
}
