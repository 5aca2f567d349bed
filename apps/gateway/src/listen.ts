import {
  type Logger,
  type MetricsRegistry,
  type RunningApp,
  serve,
  serveOperations,
} from '@gatehouse/http-server';
import { type Store, storeReadiness } from '@gatehouse/store';
import type { Gateway } from './app.ts';
import type { Bootstrap } from './bootstrap.ts';
import type { GatewayConfiguration } from './config.ts';

/** Serves the gateway and its operations port. Closing it drains the gateway first. */
export async function listen(
  gateway: Gateway,
  configuration: GatewayConfiguration,
  dependencies: {
    readonly logger: Logger;
    readonly registry: MetricsRegistry;
    readonly store: Store;
    readonly bootstrap: Bootstrap;
  },
): Promise<RunningApp> {
  const { host, port, socketPath, operationsPort } = configuration;
  const { logger, registry, store, bootstrap } = dependencies;
  const server = await serve(gateway.listener, {
    host,
    port,
    logger,
    metrics: registry,
    socketPath,
    shutdownDelayMilliseconds: configuration.shutdownDelayMilliseconds,
    maximumConnections: configuration.maximumConnections,
    answersContinue: true,
    readsAnnouncedBodiesOnly: true,
    upgrades: gateway.upgrades,
  });
  const operations = await serveOperations({
    host,
    port: operationsPort,
    metrics: registry,
    checks: {
      store: () => storeReadiness(store),
      bootstrap: bootstrap.ready,
      'signing-key': gateway.signingKey,
    },
    documents: { '/.well-known/jwks.json': gateway.jwks },
  });
  logger.info({ port: server.port || socketPath, operationsPort: operations.port }, 'listening');
  return {
    // The operations port stays open during the drain: otherwise a liveness probe would fail and end it early.
    close: async () => {
      operations.startDraining();
      bootstrap.close();
      await server.close();
      await operations.close();
      await gateway.close();
    },
  };
}
