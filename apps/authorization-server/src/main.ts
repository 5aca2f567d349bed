import { sharePasswordHashing } from '@gatehouse/identity';
import { connectServer, prepareStore } from '@gatehouse/identity/server';
import {
  createAddressMatcher,
  createRequestRecorder,
  deferListener,
  type Logger,
  observeRequests,
  runApp,
  type ServedApp,
} from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import { createApp } from './app.ts';
import { type Configuration, loadConfiguration } from './config.ts';
import { createAuthorizationServerMetrics } from './outcomes/metrics.ts';
import { addressGroupOf, thisServer } from './requests/caller.ts';
import { rejectDoubtfulRequests } from './requests/routes.ts';

await runApp({
  name: 'authorization-server',
  portVariable: 'AUTHORIZATION_SERVER_PORT',
  loadConfiguration: () => loadConfiguration(process.env),
  start,
});

async function start(configuration: Configuration, logger: Logger): Promise<ServedApp> {
  const { bootstrap, issuer: publicUrl, identity: settings } = configuration;
  sharePasswordHashing(configuration.workers);
  const app = 'authorization-server';
  const server = await connectServer(app, configuration, logger, createAuthorizationServerMetrics);
  const { identity, metrics, registry, tracer, checkStore } = server;
  const stopping = new AbortController();
  // The app needs a signing key from the store. While the store is unavailable, the listener
  // returns 503.
  const isRetried = (error: unknown) => error instanceof StoreUnavailableError;
  const application = await deferListener(async () => {
    await prepareStore(identity, { bootstrap, publicUrl }, thisServer);
    const onThrottled = metrics.throttled;
    const delivering = stopping.signal;
    const onMailFailure = reportMailFailures(logger);
    const dependencies = { identity, onThrottled, onMailFailure, tracer, delivering };
    return createApp({ ...configuration, ...settings, ...dependencies });
  }, isRetried);
  const recorder = createRequestRecorder({
    app,
    addressGroupOf,
    record: identity.requestLog.record,
  });
  const checks = { store: checkStore, application: application.ready };
  const close = server.report(checks);
  return {
    listener: observeRequests(rejectDoubtfulRequests(application.listener), logger, {
      observer: (line, request) => {
        metrics.requested(line);
        metrics.increments.observe(line);
        recorder.observe(line, request);
      },
      isTrustedProxy: createAddressMatcher(configuration.trustedProxies),
      tracer,
    }),
    metrics: registry,
    listen: { recordMalformed: recorder.recordMalformed },
    checks,
    stopStarting: application.close,
    async release() {
      stopping.abort();
      await close();
    },
  };
}

/** At most one a minute, because a mail server that is down fails for every mail. */
function reportMailFailures(logger: Logger): (message: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (performance.now() - reportedAt > 60_000) {
      reportedAt = performance.now();
      logger.warn({ finding: message }, 'the mail server did not accept a mail');
    }
  };
}
