import {
  collectMasterKey,
  createMetricsRegistry,
  createOperations,
  type Logger,
  type MetricsRegistry,
  openTracer,
  readVersion,
  storeSignals,
} from '@gatehouse/server';
import {
  ConfigurationError,
  type effectiveSettings,
  isLoopbackUrl,
} from '@gatehouse/server/configuration';
import { createStore, parseStoreUrl, storeOperations, storeReadiness } from '@gatehouse/store';
import { applyBootstrap } from './bootstrap/apply-bootstrap.ts';
import type { BootstrapDefinition } from './bootstrap/bootstrap-schema.ts';
import type { IdentitySettings } from './identity-settings.ts';
import type { AuditEvent, AuditOrigin } from './log/audit-event.ts';
import { reportProcess } from './log/process-list.ts';
import type { RequestLogResult } from './log/request-log.ts';
import { type Identity, openIdentity } from './open-identity.ts';
import { demoProblems } from './production-problems.ts';
import { RejectedChangeError } from './records/record.ts';
import { assertMasterKeyFits } from './rotate-master-key.ts';
import { masterKeyId } from './secrets/master-key.ts';

type Checks = Parameters<typeof createOperations>[0]['checks'];

/** The signals of a server, which count its events. */
interface Metrics {
  readonly audited: (event: AuditEvent) => void;
  readonly requestLog: (result: RequestLogResult, entries: number) => void;
  /** What operators see in plots. */
  readonly increments?: Pick<Parameters<typeof reportProcess>[1], 'take' | 'countWrite'>;
}

/**
 * Opens what every server with the identity records has: metrics, traces, the store and the records.
 * Does not fail if the store is unavailable.
 *
 * @param configuration.settings for operators, without secrets
 */
export async function connectServer<Counted extends Metrics>(
  app: string,
  configuration: {
    readonly identity: IdentitySettings;
    readonly settings: ReturnType<typeof effectiveSettings>;
  },
  logger: Logger,
  createMetrics: (registry: MetricsRegistry) => Counted,
) {
  const { identity: settings } = configuration;
  const tracer = await openTracer({ app, logger });
  const registry = createMetricsRegistry();
  collectMasterKey(registry, () => masterKeyId(settings.masterKey.keys()[0]));
  const metrics = createMetrics(registry);
  settings.masterKey.onUnusable((problem) =>
    logger.warn({ problem }, 'changed master key file not used'),
  );
  const { engine } = parseStoreUrl(settings.storeUrl);
  const described = { engine, operations: storeOperations };
  const signals = storeSignals(registry, logger, described, tracer);
  const warnings = new Set<string>();
  const store = createStore(settings.storeUrl, {
    ...signals,
    onWarning(warning) {
      warnings.add(warning);
      signals.onWarning(warning);
    },
  });
  const identity = openIdentity({
    ...settings,
    store,
    onAuditEvent: metrics.audited,
    onRequestLog: metrics.requestLog,
    onAuditLost: (entries, err) =>
      logger.error({ err, audit: entries }, 'audit entries not stored'),
    onDamagedRecord: (record, key, advice) =>
      logger.error({ record, key, advice }, 'damaged record'),
  });
  // Connect before the process listens, because a load balancer sends requests immediately.
  await store.ping().catch(() => undefined);
  return {
    ...{ identity, metrics, registry, tracer },
    /** Settings of the store with which it may lose writes. */
    storeWarnings: () => [...warnings],
    /** The readiness check of the store. */
    checkStore: () => storeReadiness(store),
    /**
     * Reports this process to operators.
     *
     * @returns a function that ends the report, writes the entries of audit trail and request log that
     *   are in memory, and closes the store
     */
    report(
      checks: Checks,
      describe: () => object = () => ({}),
      reload?: () => Promise<void>,
    ): () => Promise<void> {
      const { readiness } = createOperations({ checks, metrics: registry });
      const facts = { version: readVersion(), settings: configuration.settings };
      const reporting = reportProcess(identity, {
        ...{ app, take: () => ({}), countWrite: () => undefined, ...metrics.increments },
        ...(reload && { reload }),
        describe: async () => ({ ...facts, ...describe(), ...(await readiness()) }),
      });
      return async () => {
        await reporting.close();
        await Promise.all([identity.audit.flush(), identity.requestLog.flush()]);
        await store.close();
        await tracer?.close();
      };
    },
  };
}

/**
 * Prepares the store for a server: checks the master key, applies the bootstrap definition, and
 * checks that no resource conflicts with the console and that a public address does not serve the
 * demo. Idempotent.
 *
 * @throws ConfigurationError if one of the checks fails
 * @throws StoreUnavailableError
 */
export async function prepareStore(
  identity: Identity,
  {
    bootstrap,
    publicUrl,
  }: { readonly bootstrap: BootstrapDefinition | undefined; readonly publicUrl: string },
  origin: AuditOrigin,
): Promise<void> {
  await assertMasterKeyFits(identity);
  if (bootstrap !== undefined) {
    await applyBootstrap(bootstrap, identity, (change) => identity.audit.write(change, origin));
  }
  await assertNoConflict(identity);
  const problems = isLoopbackUrl(publicUrl) ? [] : await demoProblems(identity);
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}

/** @throws ConfigurationError if a resource has a scope of the API of the console */
async function assertNoConflict({ settings }: Identity): Promise<void> {
  await settings.preview({}).catch((error: unknown) => {
    throw error instanceof RejectedChangeError
      ? new ConfigurationError([{ name: 'CONSOLE_URL', message: error.message }])
      : error;
  });
}
