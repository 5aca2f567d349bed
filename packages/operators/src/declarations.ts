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
  type Client,
  clientDefinition,
  type Declarations,
  findInapplicable,
  type Identity,
  imagesOf,
  type Settings,
  type SettingsDefinition,
  withoutSecrets,
} from '@gatehouse/identity';
import { definitionOf } from './clients.ts';
import {
  type Acts,
  clientSteps,
  declarableClients,
  organizationSteps,
  type PlannedChange,
  removalSteps,
  type Step,
  settingsStep,
} from './declared-changes.ts';
import {
  assertVersion,
  type Condition,
  type Dependencies,
  type Operator,
  OperatorError,
  withVersion,
} from './operator.ts';

export interface ApplyOptions {
  /**
   * Also removes the organizations and clients that are not declared, if at least one is, and what
   * the declared members of the settings no longer contain. An absent member stays: the policy of
   * second factors must not end because no file has it.
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

export function createDeclarationActs({ identity }: Dependencies, acts: Acts) {
  async function stepsOf(declared: Declarations, { prune = false }: ApplyOptions) {
    const wanted = await wantedSettings(declared, prune, identity);
    await assertComplete(declared, prune, wanted.after, identity);
    const steps = await Promise.all([
      ...organizationSteps(declared, acts, identity),
      settingsStep(wanted, acts),
      ...clientSteps(declared, wanted.after, acts, identity),
      ...(prune ? await removalSteps(declared, acts, identity) : []),
    ]);
    return steps.filter(({ action, members }) => action !== 'change' || members.length > 0);
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
      for (const [i, { run, id: clientId = '' }] of steps.entries()) {
        try {
          const { secureKey } = (await run(operator)) as { readonly secureKey?: string };
          if (secureKey !== undefined) {
            secureKeys.push({ clientId, secureKey });
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
        ...settings,
      };
    },
  };
}

/** Effects change all the time, such as the number of tokens. They are not part of the version. */
function planOf(steps: readonly Step[]) {
  const changes = steps.map(({ run: _, ...change }) => change);
  const lasting = changes.map(({ effects: _, ...change }) => change);
  return { changes, version: withVersion({ lasting }).version };
}

const byName =
  <Item>(nameOf: (item: Item) => string) =>
  (a: Item, b: Item) =>
    nameOf(a) < nameOf(b) ? -1 : 1;

const required = { clientId: '-', name: '-', orgId: '-' };
const defaults: Readonly<Record<string, unknown>> = clientDefinition.parse(required);

/**
 * A client as a file declares it. An enabled one does not say so: a client that was disabled in an
 * emergency must not return with an older file.
 */
function declarationOf(client: Client) {
  const { enabled, ...definition } = definitionOf(client);
  const members = Object.entries(enabled === false ? { ...definition, enabled } : definition);
  const named = members.filter(([name, value]) => !isDeepStrictEqual(value, defaults[name]));
  return { ...Object.fromEntries(named), clientId: client.clientId };
}

/** Without `prune`, what a bootstrap file with these settings results in. Otherwise, members as they are. */
async function wantedSettings(
  { organizations: _organizations, clients: _clients, ...declared }: Declarations,
  prune: boolean,
  { settings }: Identity,
) {
  const names = Object.keys(declared) as (keyof SettingsDefinition)[];
  let change = declared;
  if (!prune) {
    const { definition } = await settings.preview(declared);
    change = Object.fromEntries(names.map((name) => [name, definition[name]]));
  }
  return { change, ...(await settings.previewReplacement(change)) };
}

/** @throws OperatorError if something that will not exist is named */
async function assertComplete(
  declared: Declarations,
  prune: boolean,
  after: Settings,
  identity: Identity,
): Promise<void> {
  const removesOthers = prune && declared.organizations.length > 0;
  const problems = await findInapplicable(declared, {
    ...identity,
    settings: { preview: async () => after },
    organizations: removesOthers ? { find: async () => undefined } : identity.organizations,
  });
  const listed = problems.map(({ name, message }) => {
    const [, i, member] = /^clients\.(\d+)\.(.*)/.exec(name) ?? [];
    const { clientId } = declared.clients[Number(i)] ?? {};
    return `${clientId === undefined ? name : `client ${clientId}, ${member}`}: ${message}`;
  });
  if (listed.length > 0) {
    throw new OperatorError('conflict', `Nothing was changed. ${listed.join('. ')}.`);
  }
}
