import { ConfigurationError, isLoopbackUrl } from '@gatehouse/configuration';
import {
  createLogger,
  createMetricsRegistry,
  exitOnUnhandledErrors,
  type RunningApp,
  runProcess,
} from '@gatehouse/http-server';
import { createGateway } from './app.ts';
import { startBootstrap } from './bootstrap.ts';
import { loadConfiguration } from './config.ts';
import { listen } from './listen.ts';
import { createGatewayMetrics } from './metrics/gateway-metrics.ts';
import { openIdentityStore } from './open-identity-store.ts';

await runProcess(start, describeStartFailure);

async function start(): Promise<RunningApp> {
  const configuration = loadConfiguration(process.env);
  const { identity: settings, warnings, logLevel: level } = configuration;
  const pretty = process.stdout.isTTY === true;
  const logger = createLogger({ app: 'gateway', level, pretty, buffered: true });
  exitOnUnhandledErrors(logger);
  for (const warning of warnings) {
    logger.warn(warning);
  }
  const registry = createMetricsRegistry();
  const metrics = createGatewayMetrics(registry, configuration.routing);
  const { store, identity } = openIdentityStore(settings, { logger, registry, metrics });
  // Connects before it listens: a load balancer sends requests as soon as the gateway listens (CF-02).
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
  const running = await listen(gateway, configuration, { logger, registry, store, bootstrap });
  return {
    close: async () => {
      await running.close();
      await identity.audit.flush();
      await store.close();
    },
  };
}

function describeStartFailure(error: unknown): string {
  if (error instanceof ConfigurationError) {
    const lines = error.problems.map(({ name, message }) => `  ${name}: ${message}`);
    return ['gateway did not start, because of its configuration:', ...lines].join('\n');
  }
  const { message, cause } = error instanceof Error ? error : new Error('unknown reason');
  const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
  return `gateway did not start: ${reason}`;
}
