import { describeStartFailure } from '@gatehouse/configuration';
import {
  createAddressMatcher,
  createMetricsRegistry,
  createRequestRecorder,
  deferListener,
  observeRequests,
  type RunningApp,
  runProcess,
  serveApp,
  startLog,
  storeSignals,
} from '@gatehouse/http-server';
import { connectIdentity, isStoreUnavailable, prepareStore } from '@gatehouse/identity';
import { createApp } from './app.ts';
import { loadConfiguration } from './config.ts';
import { addressGroupOf } from './http/address-group-of.ts';
import { refuseDoubtfulRequests } from './http/refuse-doubtful-requests.ts';
import { createAuthorizationServerMetrics } from './metrics/authorization-server-metrics.ts';

await runProcess(start, (error) => describeStartFailure('authorization-server', error));

async function start(): Promise<RunningApp> {
  const configuration = loadConfiguration(process.env);
  const { masterKey, securityProfile, signingKeyPolicy } = configuration.identity;
  const { bootstrap, issuer: publicUrl } = configuration;
  const logger = startLog('authorization-server', configuration, { buffered: true });
  const registry = createMetricsRegistry();
  const metrics = createAuthorizationServerMetrics(registry);
  const { identity, checkStore, close } = await connectIdentity(configuration.identity, {
    signals: (store) => storeSignals(registry, logger, store),
    logger,
    onAuditEvent: metrics.audited,
    onRequestLog: metrics.requestLog,
  });
  // The app needs a signing key from the store. While the store is unavailable, the listener
  // returns 503.
  const application = await deferListener(async () => {
    await prepareStore(identity, { bootstrap, publicUrl });
    return createApp({
      ...configuration,
      identity,
      masterKey,
      securityProfile,
      signingKeyPolicy,
      onThrottled: metrics.throttled,
    });
  }, isStoreUnavailable);
  const recorder = createRequestRecorder({
    app: 'authorization-server',
    addressGroupOf,
    record: identity.requestLog.record,
  });
  return serveApp({
    listener: observeRequests(refuseDoubtfulRequests(application.listener), logger, {
      observer: (line, request) => {
        metrics.requested(line, request);
        recorder.observe(line, request);
      },
      isTrustedProxy: createAddressMatcher(configuration.trustedProxies),
    }),
    configuration,
    portVariable: 'AUTHORIZATION_SERVER_PORT',
    logger,
    metrics: registry,
    listen: { recordMalformed: recorder.recordMalformed },
    checks: { store: checkStore, application: application.ready },
    stopStarting: application.close,
    release: close,
  });
}
