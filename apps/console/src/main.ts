import { errorCatalogue } from '@gatehouse/errors';
import {
  connectIdentity,
  masterKeyId,
  prepareStore,
  reportProcess,
  requestLogResults,
} from '@gatehouse/identity';
import {
  addProcessMetrics,
  collectMasterKey,
  createAddressMatcher,
  createMetricsRegistry,
  createOperations,
  createRequestLogMetrics,
  createRequestMetrics,
  type Logger,
  observeRequests,
  openTracer,
  readVersion,
  retryStart,
  runApp,
  type ServedApp,
  storeSignals,
} from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import { createApp, operations } from './app.ts';
import { type Configuration, loadConfiguration } from './config.ts';
import { problemCodes } from './frame/errors.ts';

await runApp({
  name: 'console',
  portVariable: 'CONSOLE_URL',
  loadConfiguration: () => loadConfiguration(process.env),
  start,
});

async function start(configuration: Configuration, logger: Logger): Promise<ServedApp> {
  const { identity: settings, consoleUrl: publicUrl, trustedProxies } = configuration;
  const tracer = await openTracer({ app: 'console', logger });
  const registry = createMetricsRegistry();
  addProcessMetrics(registry, { app: 'console' });
  collectMasterKey(registry, () => masterKeyId(settings.masterKey.keys()[0]));
  const storeWarnings = new Set<string>();
  const stopping = new AbortController();
  const { identity, checkStore, close } = await connectIdentity(settings, {
    signals(store) {
      const signals = storeSignals(registry, logger, store, tracer);
      return {
        ...signals,
        onWarning: (warning) => {
          storeWarnings.add(warning);
          signals.onWarning(warning);
        },
      };
    },
    logger,
    onAuditEvent: () => undefined,
    onRequestLog: createRequestLogMetrics(registry, requestLogResults),
  });
  // While the store is unavailable, every page reports it.
  const preparation = await retryStart(
    () => prepareStore(identity, { bootstrap: undefined, publicUrl }, { actor: 'console' }),
    (error) => error instanceof StoreUnavailableError,
  );
  const checks = { store: checkStore, preparation: preparation.ready };
  const { readiness } = createOperations({ checks, metrics: registry });
  const described = { version: readVersion(), settings: configuration.settings };
  const reporting = reportProcess(identity, {
    app: 'console',
    describe: async () => ({ ...described, ...(await readiness()) }),
    // The requests of operators are in no plot.
    take: () => ({}),
    countWrite: () => undefined,
  });
  const { masterKey, masterKeyFile, signingKeyPolicy } = settings;
  const app = createApp({
    ...configuration,
    ...{ identity, masterKey, masterKeyFile, signingKeyPolicy },
    storeWarnings: () => [...storeWarnings],
    stopping: stopping.signal,
  });
  return {
    listener: observeRequests(app, logger, {
      observer: createRequestMetrics(registry, {
        operations: ['unmatched', ...operations],
        credentials: ['bearer'],
        codes: [...new Set([...problemCodes, ...Object.keys(errorCatalogue)])],
      }),
      isTrustedProxy: createAddressMatcher(trustedProxies),
      tracer,
    }),
    metrics: registry,
    checks,
    stopStarting() {
      preparation.close();
      stopping.abort();
    },
    async release() {
      await reporting.close();
      await close();
      await tracer?.close();
    },
  };
}
