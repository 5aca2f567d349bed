import type { BootstrapDefinition } from './bootstrap-schema.ts';
import { demoDefinition, readOrCreateDemo } from './demo.ts';
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

/** The file where there is one; the demo set on an embedded store of a loopback address; else nothing. */
export function bootstrapDefinition(settings: BootstrapSettings): BootstrapDefinition | undefined {
  if (settings.bootstrapFile !== undefined) {
    return loadBootstrap(settings.bootstrapFile);
  }
  return settings.embedded && isLoopbackUrl(settings.publicUrl)
    ? demoDefinition(readOrCreateDemo(settings.dataDirectory))
    : undefined;
}

/** Anything else is production: https, `__Host-` cookies, no demo. */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
