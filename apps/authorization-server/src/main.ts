import { ConfigurationError, isLoopbackUrl } from '@gatehouse/configuration';
import {
  createAddressMatcher,
  createLogger,
  createMetricsRegistry,
  deferListener,
  exitOnUnhandledErrors,
  observeRequests,
  runProcess,
  serve,
  serveOperations,
  storeSignals,
} from '@gatehouse/http-server';
import {
  applyBootstrap,
  assertMasterKeyFits,
  demoProblems,
  type Identity,
  openIdentity,
} from '@gatehouse/identity';
import {
  createStore,
  parseStoreUrl,
  StoreUnavailable,
  storeOperations,
  storeReadiness,
} from '@gatehouse/store';
import { createApp } from './app.ts';
import { loadConfiguration } from './config.ts';
import { refuseDoubtfulRequests } from './http/refuse-doubtful-requests.ts';
import { createAuthorizationServerMetrics } from './metrics/authorization-server-metrics.ts';

async function start() {
  const configuration = loadConfiguration(process.env);
  const { host, port, socketPath, issuer, bootstrap, identity: settings } = configuration;
  const { masterKey, securityProfile, signingKeyPolicy } = settings;
  const logger = createLogger({
    app: 'authorization-server',
    level: configuration.logLevel,
    pretty: process.stdout.isTTY === true,
    buffered: true,
  });
  exitOnUnhandledErrors(logger);
  for (const warning of configuration.warnings) {
    logger.warn(warning);
  }

  const registry = createMetricsRegistry();
  const metrics = createAuthorizationServerMetrics(registry);
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
  // Connected first, so that only a store that is away makes this listen before there is an application (CF-02).
  await store.ping().catch(() => undefined);
  const application = await deferListener(
    async () => {
      await assertMasterKeyFits(identity);
      if (bootstrap !== undefined) {
        await applyBootstrap(bootstrap, identity);
      }
      await refuseDemo(issuer, identity);
      return createApp({
        ...configuration,
        identity,
        masterKey,
        securityProfile,
        signingKeyPolicy,
        onThrottled: metrics.throttled,
      });
    },
    (error) => error instanceof StoreUnavailable,
  );
  const listener = observeRequests(refuseDoubtfulRequests(application.listener), logger, {
    observer: metrics.requested,
    isTrustedProxy: createAddressMatcher(configuration.trustedProxies),
  });
  const server = await serve(listener, {
    ...{ host, port, logger, metrics: registry },
    socketPath,
    shutdownDelayMilliseconds: configuration.shutdownDelayMilliseconds,
    maximumConnections: configuration.maximumConnections,
  });
  const operations = await serveOperations({
    ...{ host, port: configuration.operationsPort, metrics: registry },
    checks: { store: () => storeReadiness(store), application: application.ready },
  });
  logger.info({ port: server.port || socketPath, operationsPort: operations.port }, 'listening');

  return {
    // The operations port goes after the drain: a liveness probe must not end it early.
    async close() {
      operations.startDraining();
      application.close();
      await server.close();
      await operations.close();
      await identity.audit.flush();
      await store.close();
    },
  };
}

/** @throws ConfigurationError when a public address would serve the demo (SL-07) */
async function refuseDemo(issuer: string, identity: Identity): Promise<void> {
  const problems = isLoopbackUrl(issuer) ? [] : await demoProblems(identity);
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}

await runProcess(start, (error) =>
  error instanceof ConfigurationError
    ? `The authorization server refuses to start:\n${error.message}`
    : `The authorization server could not start: ${String(error)}`,
);
