import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from '@jest/globals';
import { bootApp } from './booted-app.ts';
import { databaseEngines, startDatabaseEngine } from './database-engines.ts';
import { createDeviceClient } from './device-client.ts';
import { startGatewayDouble } from './gateway-double.ts';
import { type ServiceProcessOptions, startServiceProcess } from './service-process.ts';

/** Boots an app for the tests of a file. */
export async function bootSuiteApp(...options: Parameters<typeof bootApp>) {
  const app = await bootApp(...options);
  afterAll(() => app.close());
  return app;
}

/** The engines for the tests of a file: `describe.each(await startEngines())`. */
export function startEngines() {
  return Promise.all(
    databaseEngines.map(async (name) => {
      const engine = await startDatabaseEngine(name);
      afterAll(() => engine.stop());
      return { name, engine };
    }),
  );
}

/** One app on each engine: `describe.each(await bootOnEngines())`. */
export function bootOnEngines(now?: () => number) {
  return Promise.all(
    databaseEngines.map(async (name) => {
      const engine = await startDatabaseEngine(name);
      const app = await bootSuiteApp(engine.location, now);
      afterAll(() => engine.stop());
      return { name, app };
    }),
  );
}

/** Starts services as processes. They end with their test. */
export async function startServiceSuite() {
  const gateway = await startGatewayDouble();
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) {
      await stop();
    }
  });
  afterAll(() => gateway.stop());
  return {
    gateway,
    /** What a test stops at its end, the last one first. */
    stops,
    makeDirectory(): string {
      const directory = mkdtempSync(join(tmpdir(), 'device-process-'));
      stops.push(() => rmSync(directory, { recursive: true }));
      return directory;
    },
    async start(environment: Record<string, string>, options: ServiceProcessOptions = {}) {
      const own = { GATEWAY_URL: gateway.issuer, GATEWAY_JWKS_URL: gateway.jwksUrl };
      const service = await startServiceProcess({ ...own, ...environment }, options);
      stops.push(() => service.end('SIGTERM'));
      return { ...service, client: createDeviceClient({ url: service.url, gateway }) };
    },
  };
}
