import type { AuditEntry, Identity } from '@gatehouse/identity';

/** An entry with the current names of its client and its user. */
export type NamedEntry = AuditEntry & {
  readonly clientName?: string | undefined;
  readonly username?: string | undefined;
};

/** Names can change, so the audit trail stores ids only. An id without a record has no name. */
export async function withNames(
  entries: readonly AuditEntry[],
  { clients, users }: Identity,
): Promise<readonly NamedEntry[]> {
  return Promise.all(
    entries.map(async (entry) => {
      const { clientId, userId } = entry;
      const client = clientId === undefined ? undefined : await clients.find(clientId);
      const user = userId === undefined ? undefined : await users.find(userId);
      return {
        ...entry,
        ...(client === undefined ? {} : { clientName: client.name }),
        ...(user === undefined ? {} : { username: user.username }),
      };
    }),
  );
}

/** Removes characters that are invisible or change the direction of text. */
export function printableName(name: string): string {
  return name.replace(/\p{Cf}/gu, '');
}
