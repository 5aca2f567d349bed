/**
 * The single changes from what is stored to what is declared: what each does and takes away, and the
 * act of an operator that makes it.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  type AuditedChange,
  auditedChange,
  type Client,
  clientDefinition,
  type Declarations,
  hasPublicKeys,
  type Identity,
  type Settings,
  type SettingsDefinition,
  withDeclaredScopes,
  withoutSecrets,
} from '@gatehouse/identity';
import { z } from 'zod';
import {
  type ClientChange,
  changedDefinition,
  type createClientActs,
  definitionOf,
  effectOf,
  toClientView,
} from './clients.ts';
import { type Operator, withVersion } from './operator.ts';
import type { createOrganizationActs } from './organizations.ts';
import { type createSettingsActs, settingsView } from './settings.ts';

export const plannedChange = z.object({
  action: z.enum(['add', 'change', 'remove']),
  kind: z.enum(['organization', 'client', 'settings']),
  /** The settings have none. */
  id: z.string().optional(),
  /** `scopes`, or a member of a member such as `lifetimes.code`. An absent value: it has none. */
  members: z.array(auditedChange),
  /** What it takes away: `ends 41 tokens and grants`. Empty: nothing. */
  effects: z.array(z.string()),
});
export type PlannedChange = Readonly<z.output<typeof plannedChange>>;

/** The result of `run` has the secure key of a new client. */
export type Step = PlannedChange & { readonly run: (operator: Operator) => Promise<object> };

/** The acts that change one record. */
export interface Acts {
  readonly organizations: ReturnType<typeof createOrganizationActs>;
  readonly clients: ReturnType<typeof createClientActs>;
  readonly settings: ReturnType<typeof createSettingsActs>;
}

export const organizationSteps = (
  declared: Declarations,
  { organizations }: Acts,
  identity: Identity,
) =>
  declared.organizations.map(async ({ id, name }): Promise<Step> => {
    const existing = await identity.organizations.find(id);
    if (existing === undefined) {
      const reusesId = (await organizations.previewCreation({ id, name })).removedAt !== undefined;
      return {
        ...{ action: 'add', kind: 'organization', id, members: [{ member: 'name', to: name }] },
        effects: reusesId ? ['gets the devices of the removed organization with its id'] : [],
        run: (operator) => organizations.create(operator, { id, name }, { reusesId }),
      };
    }
    const ifVersion = withVersion(existing).version;
    return {
      ...{ action: 'change', kind: 'organization', id },
      ...{ members: differencesOf({ name: existing.name }, { name }), effects: [] },
      run: (operator) => organizations.change(operator, id, { name }, { ifVersion }),
    };
  });

export function settingsStep(
  {
    change,
    before,
    after,
  }: {
    readonly change: Partial<SettingsDefinition>;
    readonly before: SettingsDefinition;
    readonly after: Settings;
  },
  { settings }: Acts,
): Step {
  const [former, current] = [before, after.definition].map(withoutSecrets);
  const members = differencesOf(former, current);
  for (const { id, clientSecret } of after.definition.upstreams ?? []) {
    const known = before.upstreams?.find((other) => other.id === id);
    if (known !== undefined && known.clientSecret !== clientSecret) {
      members.push({ member: `upstreams.${id}.clientSecret` });
    }
  }
  const removed = members.filter(({ from, to }) => from !== undefined && to === undefined);
  const ifVersion = settingsView(before).version;
  return {
    ...{ action: 'change', kind: 'settings', members },
    effects: removed.map(({ member }) => `removes ${member}`),
    run: (operator) => settings.changeMembers(operator, change, { ifVersion }),
  };
}

export const clientSteps = (
  declared: Declarations,
  settings: Settings,
  { clients }: Acts,
  identity: Identity,
) =>
  declared.clients.map(async (definition): Promise<Step> => {
    const { clientId: id, enabled, ...wanted } = definition;
    const existing = await identity.clients.find(id);
    if (existing === undefined) {
      const members = differencesOf({}, { ...wanted, enabled });
      return {
        ...{ action: 'add', kind: 'client', id, members, effects: [] },
        run: (operator) => clients.create(operator, definition),
      };
    }
    const state = enabled === existing.enabled ? undefined : enabled;
    const members = Object.fromEntries(changeable.map((name) => [name, wanted[name] ?? null]));
    const lifetimes = wanted.lifetimes ? { ...noLifetimes, ...wanted.lifetimes } : null;
    const change: ClientChange = { ...members, lifetimes };
    const settled = withDeclaredScopes(changedDefinition(existing, change), existing, settings);
    const after = { ...settled, clientId: id, enabled: enabled ?? existing.enabled };
    const differences = differencesOf(definitionOf(existing), after);
    const effect = effectOf(existing, { ...settled, enabled: state }, identity);
    // It was public, or had public keys.
    const lacksKey =
      !settled.public &&
      !hasPublicKeys(settled) &&
      identity.clients.describeKeys(existing).length === 0;
    const effects = [
      ...(effect.movesFrom === undefined
        ? []
        : [`moves from ${effect.movesFrom} to ${settled.orgId}`]),
      ...(effect.revokes ? [endsTokens(await identity.removals.countTokens(id))] : []),
      ...(effect.deletesKeys ? ['deletes its secure keys'] : []),
      ...(lacksKey ? ['leaves it without a key: gatehouse clients rotate-key'] : []),
    ];
    const ifVersion = toClientView(existing, identity).version;
    return {
      ...{ action: 'change', kind: 'client', id, members: differences, effects },
      run: (operator) => clients.change(operator, id, { ...change, enabled: state }, { ifVersion }),
    };
  });

const { clientId: _id, enabled: _state, ...ofFiles } = clientDefinition.shape;
const changeable = Object.keys(ofFiles) as (keyof typeof ofFiles)[];
/** A lifetime that a file does not name is removed. */
const noLifetimes = Object.fromEntries(
  Object.keys(ofFiles.lifetimes.unwrap().shape).map((name) => [name, null]),
);

/** Clients first, so that a new client of the same organization is not one of them. */
export async function removalSteps(declared: Declarations, acts: Acts, identity: Identity) {
  const clientIds = new Set(declared.clients.map(({ clientId }) => clientId));
  const ids = new Set(declared.organizations.map(({ id }) => id));
  const clients = clientIds.size === 0 ? [] : await declarableClients(identity);
  const organizations = ids.size === 0 ? [] : await identity.organizations.list();
  return [
    ...clients
      .filter(({ clientId }) => !clientIds.has(clientId))
      .map(async (client): Promise<Step> => {
        const { clientId: id } = client;
        const ifVersion = toClientView(client, identity).version;
        const effects = [endsTokens((await acts.clients.previewRemoval(id)).tokens)];
        return {
          ...{ action: 'remove', kind: 'client', id, members: [], effects },
          run: (operator) => acts.clients.remove(operator, id, { ifVersion }),
        };
      }),
    ...organizations
      .filter(({ id }) => !ids.has(id))
      .map(async (organization): Promise<Step> => {
        const { id } = organization;
        const ifVersion = withVersion(organization).version;
        const { clientIds: members, users } = await acts.organizations.previewRemoval(id);
        const effects = [`removes ${count(members.length, 'client')} and ${count(users, 'user')}`];
        return {
          ...{ action: 'remove', kind: 'organization', id, members: [], effects },
          run: (operator) => acts.organizations.remove(operator, id, { ifVersion }),
        };
      }),
  ];
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** The index of a client counts tokens and grants alike. */
const endsTokens = (tokens: number) => `ends ${count(tokens, 'token')}`;

/** The members that differ, by their paths. Entries of a list that have a name are compared by it. */
function differencesOf(from: unknown, to: unknown, member = ''): AuditedChange[] {
  const [before, after] = [from, to].map(plain);
  if (isDeepStrictEqual(before, after)) {
    return [];
  }
  const [old, current] = [before, after].map(membersOf);
  if (old === undefined || current === undefined) {
    return [
      {
        member,
        ...(before !== undefined && { from: before }),
        ...(after !== undefined && { to: after }),
      },
    ];
  }
  const names = new Set([...Object.keys(old), ...Object.keys(current)]);
  const found = [...names].flatMap((name) =>
    differencesOf(old[name], current[name], member === '' ? name : `${member}.${name}`),
  );
  const order = { from: Object.keys(old), to: Object.keys(current) };
  return found.length === 0 ? [{ member, ...order }] : found;
}

/** As JSON has it: a member without a value is absent. */
const plain = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

function membersOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!Array.isArray(value)) {
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  }
  const named = value.map((entry) => {
    const { resource, host, id, kid } = Object(entry);
    return [resource ?? host ?? id ?? kid, entry] as const;
  });
  const isNamed = named.every(([name]) => typeof name === 'string');
  return isNamed ? Object.fromEntries(named) : undefined;
}

/** Those that operators registered. */
export async function declarableClients({ clients }: Identity): Promise<readonly Client[]> {
  return (await clients.list()).filter(({ registration }) => registration === undefined);
}
