import { ConfigurationError, isLoopbackUrl } from '@gatehouse/server/configuration';
import { StoreUnavailableError } from '@gatehouse/store';
import type { AuditOrigin } from './audit/audit-event.ts';
import { applyBootstrap } from './bootstrap/apply-bootstrap.ts';
import type { BootstrapDefinition } from './bootstrap/bootstrap-schema.ts';
import { assertMasterKeyFits } from './master-key/master-key-check.ts';
import type { Identity } from './open-identity.ts';
import { demoProblems } from './production-problems.ts';

/**
 * Prepares the store for a server: checks the master key, applies the bootstrap definition, and
 * checks that a public address does not serve the demo (SL-07). Idempotent.
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
  const problems = isLoopbackUrl(publicUrl) ? [] : await demoProblems(identity);
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}

/** Whether to try `prepareStore` again. */
export function isStoreUnavailable(error: unknown): boolean {
  return error instanceof StoreUnavailableError;
}
