import { ConfigurationError } from '@gatehouse/configuration';
import {
  createLogger,
  deferListener,
  exitOnUnhandledErrors,
  observeRequests,
  runProcess,
  serve,
  serveOperations,
} from '@gatehouse/http-server';
import {
  applyBootstrap,
  assertMasterKeyFits,
  demoProblems,
  isLoopbackUrl,
  openIdentity,
} from '@gatehouse/identity';
import { createStore, StoreUnavailable } from '@gatehouse/store';
import { createApp } from './app.ts';
import { loadConfiguration } from './config.ts';
import { refuseAbsoluteForm } from './http/refuse-absolute-form.ts';

async function start() {
  const configuration = loadConfiguration(process.env);
  const { host, port, issuer, bootstrap, identity: settings } = configuration;
  const { masterKey, securityProfile, signingKeyPolicy } = settings;
  const logger = createLogger({
    app: 'authorization-server',
    level: configuration.logLevel,
    pretty: process.stdout.isTTY === true,
    buffered: true,
  });
  exitOnUnhandledErrors(logger);

  const store = createStore(settings.storeUrl, {
    onStateChange: (state, reason) => logger.warn({ state, reason }, `store ${state}`),
  });
  const identity = openIdentity({
    store,
    masterKey,
    onAuditLost: (entries, err) =>
      logger.error({ err, audit: entries }, 'audit entries not stored'),
  });
  const application = await deferListener(
    async () => {
      await assertMasterKeyFits(identity);
      if (bootstrap !== undefined) {
        await applyBootstrap(bootstrap, identity);
      }
      if (!isLoopbackUrl(issuer)) {
        const problems = await demoProblems(identity);
        if (problems.length > 0) {
          throw new ConfigurationError(problems);
        }
      }
      return createApp({
        ...configuration,
        identity,
        masterKey,
        securityProfile,
        signingKeyPolicy,
      });
    },
    (error) => error instanceof StoreUnavailable,
  );
  const server = await serve(observeRequests(refuseAbsoluteForm(application.listener), logger), {
    host,
    port,
    logger,
    maximumConnections: configuration.maximumConnections,
  });
  const operations = await serveOperations({
    host,
    port: configuration.operationsPort,
    checks: { store: () => store.ping(), application: application.ready },
  });
  logger.debug({ port: server.port }, 'listening');

  return {
    async close() {
      application.close();
      await Promise.all([server.close(), operations.close()]);
      await identity.audit.flush();
      await store.close();
    },
  };
}

await runProcess(start, (error) =>
  error instanceof ConfigurationError
    ? `The authorization server refuses to start:\n${error.message}`
    : `The authorization server could not start: ${String(error)}`,
);
