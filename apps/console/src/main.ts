import { errorCatalogue } from '@gatehouse/errors';
import { requestLogResults } from '@gatehouse/identity';
import { connectServer, prepareStore } from '@gatehouse/identity/server';
import {
  addProcessMetrics,
  addressGroup,
  createAddressMatcher,
  createRequestLogMetrics,
  createRequestMetrics,
  createRequestRecorder,
  expressAddress,
  type Logger,
  type MetricsRegistry,
  observeRequests,
  retryStart,
  runApp,
  type ServedApp,
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
  const stopping = new AbortController();
  const server = await connectServer('console', configuration, logger, createMetrics);
  const { identity, metrics, registry, tracer, checkStore, storeWarnings } = server;
  // While the store is unavailable, every page reports it.
  const preparation = await retryStart(
    () => prepareStore(identity, { bootstrap: undefined, publicUrl }, { actor: 'console' }),
    (error) => error instanceof StoreUnavailableError,
  );
  const checks = { store: checkStore, preparation: preparation.ready };
  const close = server.report(checks);
  const { masterKey, masterKeyFile, signingKeyPolicy } = settings;
  const app = createApp({
    ...configuration,
    ...{ identity, masterKey, masterKeyFile, signingKeyPolicy },
    storeWarnings,
    stopping: stopping.signal,
  });
  const recorder = createRequestRecorder({
    app: 'console',
    addressGroupOf: (request) => addressGroup(expressAddress(request)),
    record: identity.requestLog.record,
  });
  return {
    listener: observeRequests(app, logger, {
      observer(line, request) {
        metrics.requests(line);
        recorder.observe(line, request);
      },
      isTrustedProxy: createAddressMatcher(trustedProxies),
      tracer,
    }),
    metrics: registry,
    checks,
    stopStarting() {
      preparation.close();
      stopping.abort();
    },
    release: close,
  };
}

/** The requests of operators are in no plot. */
function createMetrics(registry: MetricsRegistry) {
  addProcessMetrics(registry, { app: 'console' });
  return {
    audited: () => undefined,
    requestLog: createRequestLogMetrics(registry, requestLogResults),
    requests: createRequestMetrics(registry, {
      operations: ['unmatched', ...operations],
      credentials: ['bearer'],
      codes: [...new Set([...problemCodes, ...Object.keys(errorCatalogue)])],
    }),
  };
}
