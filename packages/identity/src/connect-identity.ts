import { ConfigurationError, isLoopbackUrl } from '@gatehouse/server/configuration';
import {
  createStore,
  parseStoreUrl,
  type StoreOptions,
  storeOperations,
  storeReadiness,
} from '@gatehouse/store';
import { applyBootstrap } from './bootstrap/apply-bootstrap.ts';
import type { BootstrapDefinition } from './bootstrap/bootstrap-schema.ts';
import type { IdentitySettings } from './identity-settings.ts';
import type { AuditEvent, AuditOrigin } from './log/audit-event.ts';
import type { RequestLogResult } from './log/request-log.ts';
import { type Identity, openIdentity } from './open-identity.ts';
import { demoProblems } from './production-problems.ts';
import { RejectedChangeError } from './records/record.ts';
import { assertMasterKeyFits } from './rotate-master-key.ts';

/**
 * Opens the store and the identity records for a server. Does not fail if the store is unavailable.
 */
export async function connectIdentity(
  settings: Pick<IdentitySettings, 'storeUrl' | 'masterKey' | 'auditRetentionDays'> &
    Partial<Pick<IdentitySettings, 'consoleUrl'>>,
  reports: {
    /** Receive the state, durations and free space of the store. */
    readonly signals: (store: {
      readonly engine: string;
      readonly operations: readonly string[];
    }) => StoreOptions;
    readonly logger: Record<'error' | 'warn', (details: object, message: string) => void>;
    readonly onAuditEvent: (event: AuditEvent) => void;
    readonly onRequestLog: (result: RequestLogResult, entries: number) => void;
  },
) {
  const { signals, logger } = reports;
  settings.masterKey.onUnusable((problem) =>
    logger.warn({ problem }, 'changed master key file not used'),
  );
  const { engine } = parseStoreUrl(settings.storeUrl);
  const store = createStore(settings.storeUrl, signals({ engine, operations: storeOperations }));
  const identity = openIdentity({
    ...settings,
    ...reports,
    store,
    onAuditLost: (entries, err) =>
      logger.error({ err, audit: entries }, 'audit entries not stored'),
    onDamagedRecord: (record, key, advice) =>
      logger.error({ record, key, advice }, 'damaged record'),
  });
  // Connect before the process listens, because a load balancer sends requests immediately.
  await store.ping().catch(() => undefined);
  return {
    identity,
    store,
    /** The readiness check of the store. */
    checkStore: () => storeReadiness(store),
    /** Writes the entries of audit trail and request log that are in memory, and closes the store. */
    async close() {
      await Promise.all([identity.audit.flush(), identity.requestLog.flush()]);
      await store.close();
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
