/**
 * What a change did to a record, for the audit trail: members with their values before and after.
 * No secret is among these members.
 *
 * The audit trail outlives users, so their names and addresses are encrypted in it, with a key of the
 * user that is deleted together with the user. Then only the names of the members remain.
 */
import { z } from 'zod';
import { type Client, clientDefinition } from '../clients/client.ts';
import { activeKeyIds } from '../clients/client-keys.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { parseRecord } from '../records/record.ts';
import { auditKeyOf } from '../secrets/credential-keys.ts';
import { createSealer, type SecretDependencies } from '../secrets/seal.ts';
import { generateId } from '../secrets/secure-keys.ts';
import {
  type SettingsDefinition,
  type SettingsMember,
  settingsMembers,
} from '../settings/settings.ts';
import { profileNames, type User } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';
import type { AuditEvent } from './audit-event.ts';

export const auditedChange = z.object({
  member: z.string(),
  /** Absent if the member had no value. */
  from: z.unknown().optional(),
  to: z.unknown().optional(),
});

export type AuditedChange = Readonly<z.infer<typeof auditedChange>>;

/** `key_added` and `key_removed` name the keys in `jwks`. */
const { clientId: _id, enabled: _state, jwks: _keys, ...ofClients } = clientDefinition.shape;
const clientMembers = Object.keys(ofClients) as (keyof Client)[];
const userMembers = [
  'orgId',
  'emailVerified',
  'roles',
  'mustChangePassword',
] as const satisfies (keyof User)[];
const personalMembers = profileNames.filter(
  (member) => !userMembers.some((each) => each === member),
);

/** Of a value as JSON. An entry has about 400 bytes. */
const MAXIMUM_CHARACTERS = 300;

export const clientChangesOf = (before: Client, after: Client): readonly AuditedChange[] =>
  changesOf(before, after, clientMembers);

/** Of the settings, without client secrets. A new secret shows only as a change of its member. */
export function settingsChangesOf(
  before: SettingsDefinition,
  after: SettingsDefinition,
): readonly AuditedChange[] {
  const members = Object.keys(settingsMembers) as SettingsMember[];
  const changed = changesOf(withoutSecrets(before), withoutSecrets(after), members);
  const isNew = clientSecretsOf(before) !== clientSecretsOf(after);
  return isNew && changed.every(({ member }) => member !== 'upstreams')
    ? [...changed, { member: 'upstreams' }]
    : changed;
}

const clientSecretsOf = ({ upstreams = [] }: SettingsDefinition) =>
  JSON.stringify(upstreams.map(({ id, clientSecret }) => [id, clientSecret]));

/** For operators, who may see all settings but the secrets. */
export const withoutSecrets = (definition: SettingsDefinition): SettingsDefinition => ({
  ...definition,
  upstreams: definition.upstreams?.map(({ clientSecret: _secret, ...upstream }) => upstream),
});

/** What the change of a client did, as audit events. */
function ofClient(before: Client, after: Client): readonly AuditEvent[] {
  const changed = { event: 'client_changed', clientId: after.clientId } as const;
  const changes = clientChangesOf(before, after);
  const [old, current] = [activeKeyIds(before), activeKeyIds(after)];
  const added = current.filter((keyId) => !old.includes(keyId));
  const removed = old.filter((keyId) => !current.includes(keyId));
  return [
    ...(changes.length > 0 ? [{ ...changed, change: 'changed', changes } as const] : []),
    ...added.map((keyId) => ({ ...changed, change: 'key_added', keyId }) as const),
    ...removed.map((keyId) => ({ ...changed, change: 'key_removed', keyId }) as const),
    ...stateChange(before, after).map((change) => ({ ...changed, change })),
  ];
}

/** Disabling again revokes again, so it is an event, too. */
function stateChange(
  before: Client | User,
  after: Client | User,
): readonly ('enabled' | 'disabled')[] {
  const isRevoked = !after.enabled && before.notBefore < after.notBefore;
  const isChanged = before.enabled !== after.enabled || isRevoked;
  return isChanged ? [after.enabled ? 'enabled' : 'disabled'] : [];
}

/** Changes records, and describes the changes as events. */
export function createAuditedChanges(
  dependencies: SecretDependencies & {
    readonly clients: Pick<ClientRegistry, 'change'>;
    readonly users: Pick<UserRegistry, 'update'>;
  },
) {
  const { store, credentialHash, clients, users } = dependencies;
  const sealerOf = (key: string) =>
    createSealer(Buffer.from(credentialHash(`audit:${key}`), 'base64url'));

  async function ofUser(before: User, after: User): Promise<readonly AuditEvent[]> {
    const { userId } = after;
    const changed = { event: 'user_changed', userId } as const;
    const plain = changesOf(before, after, userMembers);
    const personal = changesOf(before, after, personalMembers);
    const changes = [...plain, ...personal.map(({ member }) => ({ member }))];
    const key = personal.length > 0 && (await store.claim(auditKeyOf(userId), generateId()));
    const sealed = key && { personal: sealerOf(key).seal(JSON.stringify(personal), userId) };
    return [
      ...(changes.length > 0
        ? [{ ...changed, change: 'changed', changes, ...sealed } as const]
        : []),
      ...stateChange(before, after).map((change) => ({ ...changed, change })),
    ];
  }

  return {
    ofClient,
    ofUser,
    /** @throws RejectedChangeError if the client does not exist, or `change` throws it */
    changeClient: (clientId: string, change: Parameters<ClientRegistry['change']>[1]) =>
      describing(ofClient, change, (observed) => clients.change(clientId, observed)),
    /** @throws RejectedChangeError if the user does not exist, or `change` throws it */
    changeUser: (userId: string, change: (user: User) => User) =>
      describing(ofUser, change, (observed) => users.update(userId, observed)),
    /** The changes of an entry, with the values of a user who still exists. */
    async read(entry: {
      readonly userId?: string | undefined;
      readonly changes?: readonly AuditedChange[] | undefined;
      readonly personal?: string | undefined;
    }): Promise<readonly AuditedChange[] | undefined> {
      const { userId = '', changes = [], personal } = entry;
      const key = personal === undefined ? undefined : await store.get(auditKeyOf(userId));
      if (personal === undefined || key === undefined) {
        return entry.changes;
      }
      const opened = sealerOf(key).tryOpen(personal, userId) ?? '';
      const values = parseRecord(z.array(auditedChange), opened) ?? [];
      return changes.map((each) => values.find(({ member }) => member === each.member) ?? each);
    },
  };
}

/** The record after a change, and the events that describe it. */
async function describing<Stored, Changed>(
  eventsOf: (
    before: Stored,
    after: Stored,
  ) => Promise<readonly AuditEvent[]> | readonly AuditEvent[],
  change: (current: Stored) => Changed,
  make: (observed: (current: Stored) => Changed) => Promise<Stored>,
) {
  let before: Stored | undefined;
  const after = await make((current) => {
    before = current;
    return change(current);
  });
  return { after, events: await eventsOf(before ?? after, after) };
}

function changesOf<Stored>(
  before: Stored,
  after: Stored,
  members: readonly (keyof Stored & string)[],
): readonly AuditedChange[] {
  return members
    .filter((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]))
    .map((member) => ({
      member,
      from: shortened(before[member], after[member]),
      to: shortened(after[member], before[member]),
    }));
}

/** Of a long list, only the entries that the other one does not have. */
function shortened(value: unknown, other: unknown): unknown {
  const isLong = (text = '') => text.length > MAXIMUM_CHARACTERS;
  const listed =
    Array.isArray(value) && Array.isArray(other) && isLong(JSON.stringify(value))
      ? ['…', ...value.filter((entry) => !other.includes(entry))]
      : value;
  const text = JSON.stringify(listed);
  return isLong(text) ? `${text.slice(0, MAXIMUM_CHARACTERS - 1)}…` : listed;
}
