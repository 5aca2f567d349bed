import { connectServer, prepareStore } from '@gatehouse/identity/server';
import { createReload, type Logger, retryStart, runApp, type ServedApp } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import { createGateway } from './app.ts';
import { type GatewayConfiguration, loadConfiguration } from './config.ts';
import { createGatewayMetrics } from './metrics.ts';
import { thisGateway } from './pipeline/audit.ts';
import { resolveRoutes } from './routes/route-file.ts';

await runApp({
  name: 'gateway',
  portVariable: 'GATEWAY_PORT',
  reloads: true,
  loadConfiguration: () => loadConfiguration(process.env),
  start,
});

async function start(configuration: GatewayConfiguration, logger: Logger): Promise<ServedApp> {
  const { securityProfile, signingKeyPolicy } = configuration.identity;
  const server = await connectServer('gateway', configuration, logger, createGatewayMetrics);
  const { identity, metrics, registry, tracer, checkStore } = server;
  // While the store is unavailable, the gateway listens, returns 503 and repeats this step.
  const preparation = await retryStart(
    async () => {
      await prepareStore(identity, configuration, thisGateway);
      await identity.settings.addDeviceApi(configuration.publicUrl);
      resolveRoutes(configuration.routing, await identity.settings.read());
    },
    (error) => error instanceof StoreUnavailableError,
  );
  const gateway = createGateway({
    ...configuration,
    identity,
    logger,
    metrics,
    tracer,
    now: Date.now,
    strict: securityProfile === 'strict',
    signingKeyPolicy,
  });
  const checks = {
    store: checkStore,
    bootstrap: preparation.ready,
    'signing-key': gateway.signingKey,
  };
  /** A valid ROUTES_FILE takes effect. An invalid one changes nothing. */
  const { reload, configuration: loaded } = createReload(async () => {
    const routing = configuration.readRouting();
    resolveRoutes(routing, await identity.settings.read());
    gateway.use(routing);
  }, logger);
  const describe = () => ({ configuration: loaded(), ...gateway.describe() });
  const close = server.report(checks, describe, reload);
  return {
    reload,
    listener: gateway.listener,
    metrics: registry,
    listen: {
      answersContinue: true,
      readsAnnouncedBodiesOnly: true,
      recordMalformed: gateway.recordMalformed,
      upgrades: gateway.upgrades,
    },
    checks,
    documents: { '/.well-known/jwks.json': gateway.jwks },
    stopStarting: preparation.close,
    async release() {
      await gateway.close();
      await close();
    },
  };
}
