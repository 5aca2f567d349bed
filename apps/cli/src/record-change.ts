import type { AuditEvent, Identity } from '@gatehouse/identity';
import type { Environment } from '@gatehouse/server/configuration';
import { operatorName } from './command-line/operator-name.ts';

/** A change without an audit entry is an error, because the operator has to know about it. */
export async function recordChange(
  event: AuditEvent,
  { audit }: Identity,
  environment: Environment,
): Promise<void> {
  try {
    await audit.write(event, { actor: 'cli', operator: operatorName(environment) });
  } catch (cause) {
    throw new Error('The change was made, but the audit trail could not record it.', {
      cause,
    });
  }
}
