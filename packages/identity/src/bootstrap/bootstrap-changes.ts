import type { AuditEvent } from '../audit/audit-event.ts';
import type { Client } from '../clients/client.ts';
import type { SecureKeyDescription } from '../clients/client-keys.ts';
import type { User } from '../users/user.ts';

/** What a bootstrap file gave to an existing client, or removed from it, as audit events. */
export function clientChanges(
  before: Client,
  after: Client,
  describeKeys: (client: Client) => readonly SecureKeyDescription[],
): readonly AuditEvent[] {
  const { clientId } = after;
  const idsOf = (client: Client) => describeKeys(client).map(({ keyId }) => keyId);
  const [old, current] = [idsOf(before), idsOf(after)];
  const changed = { event: 'client_changed', clientId } as const;
  return [
    ...current
      .filter((keyId) => !old.includes(keyId))
      .map((keyId) => ({ ...changed, change: 'key_added', keyId }) as const),
    ...old
      .filter((keyId) => !current.includes(keyId))
      .map((keyId) => ({ ...changed, change: 'key_removed', keyId }) as const),
    ...stateChange(before, after).map((change) => ({ ...changed, change })),
  ];
}

/** What a bootstrap file changed about the access of an existing user, as audit events. */
export function userChanges(before: User, after: User): readonly AuditEvent[] {
  const changed = { event: 'user_changed', userId: after.userId } as const;
  const hasNewPassword = before.passwordHash !== after.passwordHash;
  return [
    ...(hasNewPassword ? [{ ...changed, change: 'password_changed' } as const] : []),
    ...stateChange(before, after).map((change) => ({ ...changed, change })),
  ];
}

type Enabled = Pick<Client, 'enabled'>;

function stateChange(before: Enabled, after: Enabled): readonly ('enabled' | 'disabled')[] {
  return before.enabled === after.enabled ? [] : [after.enabled ? 'enabled' : 'disabled'];
}
