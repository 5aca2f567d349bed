import { ConfigurationError, isLoopbackUrl } from '@gatehouse/configuration';
import {
  createLogger,
  createMetricsRegistry,
  exitOnUnhandledErrors,
  type RunningApp,
  runProcess,
  serve,
  serveOperations,
  storeSignals,
} from '@gatehouse/http-server';
import { openIdentity } from '@gatehouse/identity';
import { createStore, parseStoreUrl, storeOperations, storeReadiness } from '@gatehouse/store';
import { createGateway } from './app.ts';
import { startBootstrap } from './bootstrap.ts';
import { loadConfiguration } from './config.ts';
import { createGatewayMetrics } from './metrics/gateway-metrics.ts';

await runProcess(start, describeRefusal);

async function start(): Promise<RunningApp> {
  const configuration = loadConfiguration(process.env);
  const { host, port, socketPath, operationsPort, identity: settings } = configuration;
  const logger = createLogger({
    app: 'gateway',
    level: configuration.logLevel,
    pretty: process.stdout.isTTY === true,
    buffered: true,
  });
  exitOnUnhandledErrors(logger);
  for (const warning of configuration.warnings) {
    logger.warn(warning);
  }

  const registry = createMetricsRegistry();
  const metrics = createGatewayMetrics(registry, configuration.routing);
  const signals = storeSignals(registry, logger, {
    engine: parseStoreUrl(settings.storeUrl).engine,
    operations: storeOperations,
  });
  const store = createStore(settings.storeUrl, signals);
  const identity = openIdentity({
    store,
    ...settings,
    onAuditLost: (entries, err) =>
      logger.error({ err, audit: entries }, 'audit entries not stored'),
    onAuditEvent: metrics.audited,
    onDamagedRecord: (record, advice) => logger.error({ record, advice }, 'damaged record'),
  });
  // Connected first: who spreads requests over several gateways sends them as soon as this one listens (CF-02).
  await store.ping().catch(() => undefined);
  const bootstrap = await startBootstrap(configuration.bootstrap, identity, {
    allowsDemo: isLoopbackUrl(configuration.publicUrl),
  });
  const gateway = createGateway({
    ...configuration,
    identity,
    logger,
    metrics,
    now: Date.now,
    strict: settings.securityProfile === 'strict',
    signingKeyPolicy: settings.signingKeyPolicy,
  });
  const server = await serve(gateway.listener, {
    ...{ host, port, logger, metrics: registry },
    socketPath,
    shutdownDelayMilliseconds: configuration.shutdownDelayMilliseconds,
    maximumConnections: configuration.maximumConnections,
    answersContinue: true,
    readsAnnouncedBodiesOnly: true,
    upgrades: gateway.upgrades,
  });
  const operations = await serveOperations({
    ...{ host, port: operationsPort, metrics: registry },
    checks: {
      store: () => storeReadiness(store),
      bootstrap: bootstrap.ready,
      'signing-key': gateway.signingKey,
    },
    documents: { '/.well-known/jwks.json': gateway.jwks },
  });
  logger.info({ port: server.port || socketPath, operationsPort: operations.port }, 'listening');
  return {
    // The operations port goes after the drain: a liveness probe must not end it early.
    close: async () => {
      operations.startDraining();
      bootstrap.close();
      await server.close();
      await operations.close();
      await gateway.close();
      await identity.audit.flush();
      await store.close();
    },
  };
}

function describeRefusal(error: unknown): string {
  if (error instanceof ConfigurationError) {
    const lines = error.problems.map(({ name, message }) => `  ${name}: ${message}`);
    return ['gateway did not start, because of its configuration:', ...lines].join('\n');
  }
  const { message, cause } = error instanceof Error ? error : new Error('unknown reason');
  const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
  return `gateway did not start: ${reason}`;
}
