/**
 * The revocations of an audit export, applied to a restored store: what operators and users took
 * away after the backup does not come back. Only removes access, so it is safe to repeat.
 */
import {
  clientChangeNames,
  RejectedChangeError,
  type User,
  userChangeNames,
} from '@gatehouse/identity';
import { z } from 'zod';
import type { CommandContext } from '../command-line/command.ts';
import { printable } from '../command-line/format.ts';
import { readCompleteExport } from './export-file.ts';

/** The clocks of servers may differ by this time. */
const CLOCK_MILLISECONDS = 60_000;

/** The times of entries are compared as text. */
const time = z.iso.datetime({ precision: 3 });
const entryTimes = z.object({ event: z.string(), at: time, lastAt: time.optional() });

const revocation = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('client_changed'),
    at: time,
    clientId: z.string(),
    change: z.enum(clientChangeNames),
    keyId: z.string().optional(),
  }),
  z.object({
    event: z.literal('user_changed'),
    at: time,
    userId: z.string(),
    change: z.enum(userChangeNames),
    upstream: z.string().optional(),
    changes: z.array(z.object({ member: z.string() })).optional(),
  }),
  z.object({ event: z.literal('organization_removed'), at: time, organizationId: z.string() }),
  z.object({ event: z.literal('bootstrap_applied'), at: time }),
]);

/** An entry of an audit export that a restore may have to repeat. */
type Revocation = z.infer<typeof revocation>;

const repeatedEvents: ReadonlySet<string> = new Set(
  revocation.options.map(({ shape }) => shape.event.value),
);

export type Revocations = Awaited<ReturnType<typeof readRevocations>>;
export type Replayed = Awaited<ReturnType<typeof replayRevocations>>;

/**
 * @param hash of a line that the export must contain
 * @param since the time of the backup
 * @returns the entries in the order of the export, and the time of its last event
 * @throws RejectedChangeError if the export is broken, empty, incomplete or of a later release
 */
export async function readRevocations(
  path: string,
  hash: string | undefined,
  since: string,
  warn: (message: string) => void,
) {
  const entries: Revocation[] = [];
  const { newest = '' } = await readCompleteExport(path, hash, (entry, line) => {
    if (repeatedEvents.has(parse(entryTimes, entry, line).event)) {
      entries.push(parse(revocation, entry, line));
    }
  });
  if (newest < since) {
    warn(
      `The audit export ends at ${newest}, before the backup of ${since}. Later revocations are missing.`,
    );
  }
  return { entries: entries as readonly Revocation[], newest };
}

function parse<Value>(schema: z.ZodType<Value>, entry: unknown, line: number): Value {
  const { success, data } = schema.safeParse(entry);
  if (!success) {
    throw new RejectedChangeError(`Line ${line} is not an audit entry that this release knows.`);
  }
  return data;
}

type Entry<Event> = Omit<Extract<Revocation, { event: Event }>, 'event' | 'at'>;
type ClientEntry = Entry<'client_changed'>;
type UserEntry = Entry<'user_changed'>;

interface Replay extends Pick<CommandContext, 'identity' | 'audit'> {
  /** Sentences about what the replay changed. */
  readonly changed: string[];
  /** Sentences about what the operator has to repeat. */
  readonly repeat: string[];
}

/**
 * @param entries in the order of the export
 * @param since the time of the backup, in ISO 8601
 */
export async function replayRevocations(
  entries: readonly Revocation[],
  since: string,
  { identity, audit }: Pick<Replay, 'identity' | 'audit'>,
) {
  const start = new Date(Date.parse(since) - CLOCK_MILLISECONDS).toISOString();
  const later = entries.filter(({ at }) => at >= start);
  const replay: Replay = { identity, audit, changed: [], repeat: [] };
  const ofClients: ClientEntry[] = later.filter((entry) => entry.event === 'client_changed');
  const ofUsers: UserEntry[] = later.filter((entry) => entry.event === 'user_changed');
  const change = 'removed' as const;
  for (const { organizationId } of later.filter(
    (entry) => entry.event === 'organization_removed',
  )) {
    // If it had many members, no other entry names them.
    const { clients, users } = await identity.removals.membersOf(organizationId);
    ofClients.push(...clients.map(({ clientId }) => ({ clientId, change })));
    ofUsers.push(...users.map(({ userId }) => ({ userId, change })));
    if ((await identity.organizations.find(organizationId)) !== undefined) {
      replay.repeat.push(`Remove the organization ${organizationId} again.`);
    }
  }
  for (const [clientId, changes] of Map.groupBy(ofClients, ({ clientId }) => clientId)) {
    await replayClient(clientId, changes, replay);
  }
  for (const [userId, changes] of Map.groupBy(ofUsers, ({ userId }) => userId)) {
    await replayUser(userId, changes, replay);
  }
  const { changed, repeat } = replay;
  if (later.some(({ event }) => event === 'bootstrap_applied')) {
    repeat.push('Apply the bootstrap file again: it was applied after the backup.');
  }
  await audit({ event: 'revocations_replayed', changes: changed.length });
  return { changed, repeat };
}

async function replayClient(
  clientId: string,
  changes: readonly ClientEntry[],
  { identity, audit, changed, repeat }: Replay,
): Promise<void> {
  const { clients } = identity;
  const client = await clients.find(clientId);
  if (client === undefined) {
    if (changes.at(-1)?.change !== 'removed') {
      repeat.push(`Add the client ${printable(clientId)} again.`);
    }
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
    const ids = clients.keyIds((await clients.find(clientId)) ?? client);
    if (keyId === undefined || !ids.includes(keyId)) {
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
  const state = lastState(changes);
  if (state !== undefined) {
    await disable(`it was ${state} after the backup`);
  }
  if (state === 'removed') {
    repeat.push(`Remove the client ${clientId} again.`);
    return;
  }
  const held = clients.keyIds(client);
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
  replay: Replay,
): Promise<void> {
  const { identity, audit, changed, repeat } = replay;
  const { users } = identity;
  const user = await users.find(userId);
  if (user === undefined) {
    if (changes.at(-1)?.change !== 'removed') {
      repeat.push(`Add the user ${printable(userId)} again.`);
    }
    return;
  }
  const has = (...names: readonly string[]) => changes.some(({ change }) => names.includes(change));
  const hasOldPassword = has('password_changed');
  // One that was removed signs in alone, and no entry names it.
  const hasOldPasskey =
    has('passkey_removed', 'factors_removed') && (await identity.passkeys.list(userId)).length > 0;
  const state = lastState(changes);
  if (user.enabled && (hasOldPassword || hasOldPasskey || state !== undefined)) {
    await users.update(userId, (each) => ({ ...each, enabled: false }));
    await audit({ event: 'user_changed', userId, change: 'disabled' });
    const other = hasOldPassword ? 'was given another password' : 'lost a passkey';
    const reason = state === undefined ? other : `was ${state}`;
    changed.push(`Disabled the user ${user.username}, who ${reason} after the backup.`);
  }
  if (state === 'removed') {
    repeat.push(`Remove the user ${user.username} again.`);
    return;
  }
  if (hasOldPassword && state === undefined) {
    repeat.push(`Set a new password for the user ${user.username}, then enable the user.`);
  }
  const members = changes.flatMap((each) => each.changes ?? []).map(({ member }) => member);
  if (has('email_verified') || members.some((each) => /^email(Verified)?$/.test(each))) {
    await forgetAddress(user, replay);
  }
  if (has('recovery_code_used')) {
    if (await identity.factors.removeRecoveryCodes(userId)) {
      changed.push(`Removed the recovery codes of the user ${user.username}: some were used.`);
    }
  }
  if (has('factor_enrolled', 'factors_removed', 'passkey_added', 'passkey_removed')) {
    repeat.push(`Reset the second factors of the user ${user.username}: they changed later.`);
  }
  for (const [id, { change }] of new Map(changes.map((each) => [each.upstream, each]))) {
    const isUnlinked = id !== undefined && change === 'upstream_unlinked';
    if (isUnlinked && (await identity.upstreamLinks.unlink(userId, id))) {
      changed.push(`Disconnected the user ${user.username} from the provider ${printable(id)}.`);
    }
  }
  if (has('changed')) {
    repeat.push(`Change the user ${user.username} again.`);
  }
}

/** The mailbox of an address that the user replaced must not get a new password. */
async function forgetAddress(
  { userId, username, emailVerified }: User,
  { identity, audit, changed, repeat }: Replay,
): Promise<void> {
  if (emailVerified) {
    const unverified = (each: User) => ({ ...each, emailVerified: false });
    const { events } = await identity.auditedChanges.changeUser(userId, unverified);
    await Promise.all(events.map(audit));
    changed.push(`The address of the user ${username} is unverified: it was changed later.`);
    repeat.push(`Set the address of the user ${username} again.`);
  }
}

/**
 * An operator may restore a backup because of a mistaken removal, so a replay disables what was
 * removed. What was added again with the same id stays disabled.
 */
function lastState(
  changes: readonly { readonly change: string }[],
): 'disabled' | 'removed' | undefined {
  if (changes.some(({ change }) => change === 'removed')) {
    return 'removed';
  }
  const last = changes.findLast(({ change }) => change === 'enabled' || change === 'disabled');
  return last?.change === 'disabled' ? 'disabled' : undefined;
}

export function describeReplay(
  { changed, repeat }: Replayed,
  { newest }: Revocations,
): readonly string[] {
  return [
    ...(changed.length === 0 ? ['The export contains no other revocations.'] : changed),
    `The export ends at ${newest}. Repeat later changes yourself.`,
    ...(repeat.length === 0 ? [] : ['To do:', ...repeat.map((each) => `  ${each}`)]),
  ];
}
