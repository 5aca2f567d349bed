/**
 * Organizations, clients and settings that a team declares in files:
 *
 *   export ─▶ files ─▶ plan (what will change, and what that takes away) ─▶ apply
 *
 * The settings change as those of a bootstrap file do. Users are not declared: their names are
 * personal data, and they change themselves. Clients that registered themselves stay as they are.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  assertApplicable,
  bootstrapSchema,
  type Client,
  type ClientSettings,
  clientSchema,
  type Declarations,
  hasPublicKeys,
  type Identity,
  imagesOf,
  type Settings,
  type SettingsDefinition,
  withDeclaredScopes,
  withoutSecrets,
} from '@gatehouse/identity';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { z } from 'zod';
import {
  type ClientChange,
  changedDefinition,
  type createClientActs,
  definitionOf,
  effectOf,
  toClientView,
} from './clients.ts';
import {
  assertVersion,
  type Condition,
  type Dependencies,
  type Operator,
  OperatorError,
  withVersion,
} from './operator.ts';
import type { createOrganizationActs } from './organizations.ts';
import { type createSettingsActs, settingsMember, viewOf } from './settings.ts';

export const plannedChange = z.object({
  action: z.enum(['add', 'change', 'remove']),
  kind: z.enum(['organization', 'client', 'settings']),
  /** The settings have none. */
  id: z.string().optional(),
  /** `scopes`, or a member of a member such as `lifetimes.code`. An absent value: it has none. */
  members: z.array(
    z.object({ member: z.string(), from: z.unknown().optional(), to: z.unknown().optional() }),
  ),
  /** What it takes away: `ends 41 tokens and grants`. Empty: nothing. */
  effects: z.array(z.string()),
});
export type PlannedChange = Readonly<z.output<typeof plannedChange>>;

export interface ApplyOptions {
  /**
   * Also removes what is not declared: organizations, clients and members of the settings, each kind
   * only if at least one is declared.
   */
  readonly prune?: boolean;
}

/** What `apply` did. The first failure stops it. */
export interface Applied {
  readonly done: readonly PlannedChange[];
  /** Of new clients. They are shown only once. */
  readonly secureKeys: readonly { readonly clientId: string; readonly secureKey: string }[];
  /** The first of these failed. */
  readonly notDone: readonly PlannedChange[];
  readonly failure?: unknown;
}

interface Step {
  readonly change: PlannedChange;
  /** @returns the secure key of a new client */
  readonly run: (operator: Operator) => Promise<string | undefined>;
}

/** The acts that change one record. */
interface Acts {
  readonly organizations: ReturnType<typeof createOrganizationActs>;
  readonly clients: ReturnType<typeof createClientActs>;
  readonly settings: ReturnType<typeof createSettingsActs>;
}

export function createDeclarationActs({ identity }: Dependencies, acts: Acts) {
  async function stepsOf(declared: Declarations, { prune = false }: ApplyOptions) {
    const wanted = await wantedSettings(declared, prune, identity);
    await assertComplete(declared, prune, wanted.after, identity);
    const removals = prune ? await removalsOf(declared, identity, acts) : [];
    return [
      ...(await organizationSteps(declared, acts, identity)),
      ...settingsSteps(wanted, acts),
      ...(await clientSteps(declared, wanted.after, acts, identity)),
      ...removals,
    ];
  }

  return {
    /** What `apply` would do, in this order. */
    async plan(declared: Declarations, options: ApplyOptions = {}) {
      return planOf(await stepsOf(declared, options));
    },

    /**
     * Adds and changes what is declared. Each change is one act, so that an error leaves the changes
     * before it. Then apply again: what is done is no change.
     *
     * @param condition the version of the plan that the operator saw
     */
    async apply(
      operator: Operator,
      declared: Declarations,
      options: ApplyOptions = {},
      condition: Condition = {},
    ): Promise<Applied> {
      const steps = await stepsOf(declared, options);
      const { changes, version } = planOf(steps);
      assertVersion({ version }, condition);
      const secureKeys: { clientId: string; secureKey: string }[] = [];
      for (const [i, { change, run }] of steps.entries()) {
        try {
          const secureKey = await run(operator);
          if (secureKey !== undefined) {
            secureKeys.push({ clientId: change.id ?? '', secureKey });
          }
        } catch (failure) {
          return { done: changes.slice(0, i), secureKeys, notDone: changes.slice(i), failure };
        }
      }
      return { done: changes, secureKeys, notDone: [] };
    },

    /** Everything that can be declared, without secrets and without members that have their default. */
    async export() {
      const { before } = await identity.settings.previewReplacement({});
      const organizations = await identity.organizations.list();
      const clients = await declarableClients(identity);
      const settings = structuredClone(withoutSecrets(before));
      for (const image of imagesOf(settings.branding)) {
        image.content = (await identity.settings.readImage(image.hash))?.toString('base64');
      }
      return {
        organizations: organizations.toSorted(byName(({ id }) => id)),
        clients: clients.toSorted(byName(({ clientId }) => clientId)).map(declarationOf),
        settings,
      };
    },
  };
}

/** Effects change all the time, such as the number of tokens. They are not part of the version. */
function planOf(steps: readonly Step[]) {
  const changes = steps.map(({ change }) => change);
  const lasting = changes.map(({ effects: _, ...change }) => change);
  return { changes, version: withVersion({ lasting }).version };
}

const byName =
  <Item>(nameOf: (item: Item) => string) =>
  (a: Item, b: Item) =>
    nameOf(a) < nameOf(b) ? -1 : 1;

/** Those that operators registered. */
async function declarableClients({ clients }: Identity): Promise<readonly Client[]> {
  return (await clients.list()).filter(({ registration }) => registration === undefined);
}

/**
 * A client as a file declares it. An enabled one does not say so: a client that was disabled in an
 * emergency must not return with an older file.
 */
function declarationOf(client: Client) {
  const { enabled, ...definition } = definitionOf(client);
  const members = Object.entries(enabled === false ? { ...definition, enabled } : definition);
  const defaults = Object.entries(clientSchema.shape).map(([name, type]) => [
    name,
    type instanceof z.ZodDefault ? type.parse(undefined) : undefined,
  ]);
  const normal: Readonly<Record<string, unknown>> = Object.fromEntries(defaults);
  const named = members.filter(([name, value]) => !isDeepStrictEqual(value, normal[name]));
  return { ...Object.fromEntries(named), clientId: client.clientId };
}

/** Without `prune`, what a bootstrap file with these settings results in. */
async function wantedSettings(
  { settings: declared }: Declarations,
  prune: boolean,
  { settings }: Identity,
) {
  const names = Object.keys(declared) as (keyof SettingsDefinition)[];
  const all = settingsMember.options.map((name) => [name, undefined]);
  let change: Partial<SettingsDefinition> = {};
  if (prune && names.length > 0) {
    change = { ...Object.fromEntries(all), ...emptySettings, ...declared };
  } else if (names.length > 0) {
    const { definition } = await settings.preview(declared);
    change = Object.fromEntries(names.map((name) => [name, definition[name]]));
  }
  return { change, ...(await settings.previewReplacement(change)) };
}

const { organizations: _o, clients: _c, users: _u, ...emptySettings } = bootstrapSchema.parse({});

/** @throws OperatorError if something that will not exist is named */
async function assertComplete(
  { organizations, clients, settings }: Declarations,
  prune: boolean,
  after: Settings,
  identity: Identity,
): Promise<void> {
  const removesOthers = prune && organizations.length > 0;
  const definition = {
    ...{ ...bootstrapSchema.parse({}), ...settings },
    organizations: [...organizations],
    clients: clients.map((client) => ({ ...client, keepTokens: false })),
  };
  try {
    await assertApplicable(definition, {
      ...identity,
      settings: { preview: async () => after },
      organizations: removesOthers ? { find: async () => undefined } : identity.organizations,
    });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) {
      throw error;
    }
    const listed = error.problems.map(({ name, message }) => {
      const place = name.replace('BOOTSTRAP_FILE ', '');
      const [, i, member] = /^clients\.(\d+)\.(.*)/.exec(place) ?? [];
      const { clientId } = clients[Number(i)] ?? {};
      return `${clientId === undefined ? place : `client ${clientId}, ${member}`}: ${message}`;
    });
    throw new OperatorError('conflict', `Nothing was changed. ${listed.join('. ')}.`);
  }
}

async function organizationSteps(
  { organizations: declared }: Declarations,
  { organizations }: Acts,
  identity: Identity,
): Promise<Step[]> {
  const steps = declared.map(async ({ id, name }): Promise<Step[]> => {
    const existing = await identity.organizations.find(id);
    if (existing === undefined) {
      const reusesId = (await organizations.previewCreation({ id, name })).removedAt !== undefined;
      const members = [{ member: 'name', to: name }];
      const effects = reusesId ? ['gets the devices of the removed organization with its id'] : [];
      return [
        {
          change: { action: 'add', kind: 'organization', id, members, effects },
          run: (operator) => none(organizations.create(operator, { id, name }, { reusesId })),
        },
      ];
    }
    const ifVersion = withVersion(existing).version;
    const members = differencesOf({ name: existing.name }, { name });
    return stepsFor(members, {
      change: { action: 'change', kind: 'organization', id, members, effects: [] },
      run: (operator) => none(organizations.change(operator, id, { name }, { ifVersion })),
    });
  });
  return (await Promise.all(steps)).flat();
}

function settingsSteps(
  { change, before, after }: Awaited<ReturnType<typeof wantedSettings>>,
  { settings }: Acts,
): Step[] {
  const [former, current] = [before, after.definition].map(withoutSecrets);
  const members = differencesOf(former, current);
  for (const { id, clientSecret } of after.definition.upstreams ?? []) {
    const known = before.upstreams?.find((other) => other.id === id);
    if (known !== undefined && known.clientSecret !== clientSecret) {
      members.push({ member: `upstreams.${id}.clientSecret` });
    }
  }
  const removed = members.filter(({ from, to }) => from !== undefined && to === undefined);
  const ifVersion = viewOf(before).version;
  return stepsFor(members, {
    change: {
      ...{ action: 'change', kind: 'settings', members },
      effects: removed.map(({ member }) => `removes ${member}`),
    },
    run: (operator) => none(settings.changeMembers(operator, change, { ifVersion })),
  });
}

async function clientSteps(
  { clients: declared }: Declarations,
  settings: Settings,
  { clients }: Acts,
  identity: Identity,
): Promise<Step[]> {
  const steps = declared.map(async (definition): Promise<Step[]> => {
    const { clientId: id, enabled, ...wanted } = definition;
    const existing = await identity.clients.find(id);
    if (existing === undefined) {
      const members = differencesOf({}, { ...wanted, enabled });
      return [
        {
          change: { action: 'add', kind: 'client', id, members, effects: [] },
          run: async (operator) => (await clients.create(operator, definition)).secureKey,
        },
      ];
    }
    const state = enabled === existing.enabled ? undefined : enabled;
    const change = Object.fromEntries(changeable.map((name) => [name, wanted[name] ?? null]));
    const settled = withDeclaredScopes(changedDefinition(existing, change), existing, settings);
    const after = { ...settled, clientId: id, enabled: enabled ?? existing.enabled };
    const members = differencesOf(definitionOf(existing), after);
    const { movesFrom, revokes, deletesKeys } = effectOf(
      existing,
      { ...settled, enabled: state },
      identity,
    );
    const effects = [
      ...(movesFrom === undefined ? [] : [`moves from ${movesFrom} to ${settled.orgId}`]),
      ...(revokes ? [endsTokens(await identity.removals.countTokens(id))] : []),
      ...(deletesKeys ? ['deletes its secure keys'] : []),
      ...(members.length > 0 && lacksKey(existing, settled, identity)
        ? ['leaves it without a key: gatehouse clients rotate-key']
        : []),
    ];
    const ifVersion = toClientView(existing, identity).version;
    const input = { ...change, enabled: state } as ClientChange;
    return stepsFor(members, {
      change: { action: 'change', kind: 'client', id, members, effects },
      run: (operator) => none(clients.change(operator, id, input, { ifVersion })),
    });
  });
  return (await Promise.all(steps)).flat();
}

/** It was public, or had public keys. */
const lacksKey = (existing: Client, after: ClientSettings, { clients }: Identity) =>
  !after.public && !hasPublicKeys(after) && clients.describeKeys(existing).length === 0;

const { clientId: _id, secureKey: _key, enabled: _state, ...ofFiles } = clientSchema.shape;
const changeable = Object.keys(ofFiles) as (keyof typeof ofFiles)[];

/** Clients first, so that a new client of the same organization is not one of them. */
async function removalsOf(declared: Declarations, identity: Identity, acts: Acts): Promise<Step[]> {
  const clientIds = new Set(declared.clients.map(({ clientId }) => clientId));
  const ids = new Set(declared.organizations.map(({ id }) => id));
  const clients = clientIds.size === 0 ? [] : await declarableClients(identity);
  const organizations = ids.size === 0 ? [] : await identity.organizations.list();
  const removedClients = clients
    .filter(({ clientId }) => !clientIds.has(clientId))
    .map(async (client): Promise<Step> => {
      const { clientId: id } = client;
      const ifVersion = toClientView(client, identity).version;
      const { tokens } = await acts.clients.previewRemoval(id);
      const effects = [endsTokens(tokens)];
      return {
        change: { action: 'remove', kind: 'client', id, members: [], effects },
        run: (operator) => none(acts.clients.remove(operator, id, { ifVersion })),
      };
    });
  const removedOrganizations = organizations
    .filter(({ id }) => !ids.has(id))
    .map(async (organization): Promise<Step> => {
      const { id } = organization;
      const ifVersion = withVersion(organization).version;
      const { clientIds: members, users } = await acts.organizations.previewRemoval(id);
      const effects = [`removes ${count(members.length, 'client')} and ${count(users, 'user')}`];
      return {
        change: { action: 'remove', kind: 'organization', id, members: [], effects },
        run: (operator) => none(acts.organizations.remove(operator, id, { ifVersion })),
      };
    });
  return Promise.all([...removedClients, ...removedOrganizations]);
}

const none = (done: Promise<unknown>): Promise<undefined> => done.then(() => undefined);

const stepsFor = (members: PlannedChange['members'], step: Step): Step[] =>
  members.length === 0 ? [] : [step];

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** The index of a client counts tokens and grants alike. */
const endsTokens = (tokens: number) => `ends ${count(tokens, 'token')}`;

/** The members that differ, by their paths. Entries of a list that have a name are compared by it. */
function differencesOf(from: unknown, to: unknown, member = ''): PlannedChange['members'] {
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
