/**
 * Applies the revocations of an audit export to a restored store: what operators and users took
 * away after the backup does not come back. Only removes access, so it is safe to repeat.
 */
import type { AuditEvent, Identity } from '@gatehouse/identity';
import { printable } from '../command-line/printable.ts';
import type { Revocation } from './read-revocations.ts';

/** The clocks of servers may differ by this time. */
const CLOCK_MILLISECONDS = 60_000;

export interface Replayed {
  /** Sentences about what the replay changed. */
  readonly changed: readonly string[];
  /** Sentences about what the operator has to repeat. */
  readonly repeat: readonly string[];
}

type ClientEntry = Extract<Revocation, { event: 'client_changed' }>;
type UserEntry = Extract<Revocation, { event: 'user_changed' }>;
type Audit = (event: AuditEvent) => Promise<void>;

/**
 * @param entries in the order of the export
 * @param since the time of the backup, in ISO 8601
 * @param audit records each change
 */
export async function replayRevocations(
  entries: readonly Revocation[],
  since: string,
  { identity, audit }: { readonly identity: Identity; readonly audit: Audit },
): Promise<Replayed> {
  const start = new Date(Date.parse(since) - CLOCK_MILLISECONDS).toISOString();
  const later = entries.filter(({ at }) => at >= start);
  const changed: string[] = [];
  const repeat: string[] = [];
  const clients = groupBy(
    later.filter((entry): entry is ClientEntry => entry.event === 'client_changed'),
    ({ clientId }) => clientId,
  );
  for (const [clientId, changes] of clients) {
    await replayClient(clientId, changes, { identity, audit, changed, repeat });
  }
  const users = groupBy(
    later.filter((entry): entry is UserEntry => entry.event === 'user_changed'),
    ({ userId }) => userId,
  );
  for (const [userId, changes] of users) {
    await replayUser(userId, changes, { identity, audit, changed, repeat });
  }
  if (later.some(({ event }) => event === 'bootstrap_applied')) {
    repeat.push('Apply the bootstrap file again: it was applied after the backup.');
  }
  await audit({ event: 'revocations_replayed', changes: changed.length });
  return { changed, repeat };
}

interface Replay {
  readonly identity: Identity;
  readonly audit: Audit;
  readonly changed: string[];
  readonly repeat: string[];
}

async function replayClient(
  clientId: string,
  changes: readonly ClientEntry[],
  { identity, audit, changed, repeat }: Replay,
): Promise<void> {
  const { clients } = identity;
  const client = await clients.find(clientId);
  if (client === undefined) {
    repeat.push(`Add the client ${printable(clientId)} again.`);
    return;
  }
  const disable = async (reason: string) => {
    if (!client.enabled) {
      return;
    }
    await clients.update(clientId, (each) => ({ ...each, enabled: false }));
    await audit({ event: 'client_changed', clientId, change: 'disabled' });
    changed.push(`Disabled the client ${clientId}: ${reason}.`);
  };
  for (const { keyId } of changes.filter(({ change }) => change === 'key_removed')) {
    const ids = clients.describeKeys((await clients.find(clientId)) ?? client);
    if (keyId === undefined || !ids.some((each) => each.keyId === keyId)) {
      continue;
    }
    if (ids.length === 1) {
      await disable(`its only key in the backup, ${keyId}, was removed later`);
      repeat.push(
        `Enable the client ${clientId} after you have rotated its key and removed ${keyId}.`,
      );
    } else {
      await clients.removeKey(clientId, keyId);
      await audit({ event: 'client_changed', clientId, change: 'key_removed', keyId });
      changed.push(`Removed the key ${keyId} of the client ${clientId}.`);
    }
  }
  if (lastState(changes) === 'disabled') {
    await disable('it was disabled after the backup');
  }
  const held = clients.describeKeys(client).map(({ keyId }) => keyId);
  if (changes.some(({ change, keyId = '' }) => change === 'key_added' && !held.includes(keyId))) {
    repeat.push(`Rotate the key of the client ${clientId}: a key that was added later is lost.`);
  }
  if (changes.some(({ change }) => change === 'changed')) {
    repeat.push(`Change the settings of the client ${clientId} again.`);
  }
}

async function replayUser(
  userId: string,
  changes: readonly UserEntry[],
  { identity, audit, changed, repeat }: Replay,
): Promise<void> {
  const { users } = identity;
  const user = await users.find(userId);
  if (user === undefined) {
    repeat.push(`Add the user ${printable(userId)} again.`);
    return;
  }
  const hasOldPassword = changes.some(({ change }) => change === 'password_changed');
  const isDisabled = lastState(changes) === 'disabled';
  if (user.enabled && (hasOldPassword || isDisabled)) {
    await users.update(userId, (each) => ({ ...each, enabled: false }));
    await audit({ event: 'user_changed', userId, change: 'disabled' });
    const reason = isDisabled ? 'disabled' : 'given another password';
    changed.push(`Disabled the user ${user.username}, who was ${reason} after the backup.`);
  }
  if (hasOldPassword && !isDisabled) {
    repeat.push(`Set a new password for the user ${user.username}, then enable the user.`);
  }
  if (changes.some(({ change }) => change === 'changed')) {
    repeat.push(`Change the user ${user.username} again.`);
  }
}

function lastState(changes: readonly { readonly change: string }[]): string | undefined {
  return changes.findLast(({ change }) => change === 'enabled' || change === 'disabled')?.change;
}

function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  return Map.groupBy(items, keyOf);
}
