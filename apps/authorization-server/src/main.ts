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
import { applyBootstrap, bootstrapDefinition, openIdentity } from '@gatehouse/identity';
import { createStore, StoreUnavailable } from '@gatehouse/store';
import { createApp } from './app.ts';
import { loadConfiguration } from './config.ts';

async function start() {
  const configuration = loadConfiguration(process.env);
  const { host, port, issuer, identity: settings, cookieKeys } = configuration;
  const { masterKey, securityProfile } = settings;
  const { trustedProxies, clientRequestsPerMinute } = configuration;
  const logger = createLogger({
    app: 'authorization-server',
    level: configuration.logLevel,
    pretty: process.stdout.isTTY === true,
  });
  exitOnUnhandledErrors(logger);

  const bootstrap = bootstrapDefinition({ ...settings, ...configuration, publicUrl: issuer });
  const store = createStore(settings.storeUrl, {
    onStateChange: (state) => logger.warn({ state }, `store ${state}`),
  });
  const identity = openIdentity({ store, masterKey });
  const application = await deferListener(
    async () => {
      if (bootstrap !== undefined) {
        await applyBootstrap(bootstrap, identity);
      }
      return createApp({
        identity,
        masterKey,
        issuer,
        cookieKeys,
        securityProfile,
        trustedProxies,
        clientRequestsPerMinute,
      });
    },
    (error) => error instanceof StoreUnavailable,
  );
  const server = await serve(observeRequests(application.listener, logger), { host, port });
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
      await store.close();
    },
  };
}

await runProcess(start, (error) =>
  error instanceof ConfigurationError
    ? `The authorization server refuses to start:\n${error.message}`
    : `The authorization server could not start: ${String(error)}`,
);
