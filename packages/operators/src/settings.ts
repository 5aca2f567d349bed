/** The settings of the installation: what is declared, what is in force, and the change of a member. */
import { isDeepStrictEqual } from 'node:util';
import {
  findInapplicable,
  lifetimesOf,
  type SettingsDefinition,
  type SettingsMember,
  settingsChangesOf,
  settingsSchemas,
  withoutSecrets,
} from '@gatehouse/identity';
import { z } from 'zod';
import {
  assertVersion,
  type Condition,
  type Dependencies,
  forbiddenToMachines,
  invalidMembers,
  type Operator,
  parseInput,
  withVersion,
} from './operator.ts';

export const settingsMember = z.enum(Object.keys(settingsSchemas) as SettingsMember[]);

/** Values by member. Null removes an optional one, and empties another. */
export type SettingsChange = Readonly<Partial<Record<SettingsMember, unknown>>>;

const ofSignIns = ['operators', 'secondFactor', 'upstreams'] as const;

export const settingsView = (definition: SettingsDefinition) =>
  withVersion(withoutSecrets(definition));

export function createSettingsActs({ identity, record }: Dependencies) {
  const { settings } = identity;

  /** @returns the condition under which a machine may make the change */
  async function conditionOfMachine(
    change: Partial<SettingsDefinition>,
    { ifVersion }: Condition,
  ): Promise<Condition> {
    const { before, after } = await settings.previewReplacement(change);
    if (ofSignIns.some((name) => !isDeepStrictEqual(before[name], after.definition[name]))) {
      throw forbiddenToMachines();
    }
    return { ifVersion: ifVersion ?? settingsView(before).version };
  }

  /** The members after the change, and what they name exists. */
  async function parse(values: SettingsChange): Promise<Partial<SettingsDefinition>> {
    const names = Object.keys(values) as SettingsMember[];
    const shapes = names.map((name) => [name, settingsSchemas[parseInput(settingsMember, name)]]);
    const present = names.map((name) => [name, values[name] ?? undefined]);
    const change = parseInput(z.object(Object.fromEntries(shapes)), Object.fromEntries(present));
    const wanted = { ...Object.fromEntries(names.map((name) => [name, undefined])), ...change };
    const preview = async () => (await settings.previewReplacement(wanted)).after;
    const declared = { organizations: [], clients: [], ...change };
    const problems = await findInapplicable(declared, { ...identity, settings: { preview } });
    if (problems.length > 0) {
      throw invalidMembers(problems.map(({ name, message }) => ({ property: name, message })));
    }
    return wanted;
  }

  /** Replaces each named member as a whole. An absent client secret of an upstream provider stays. */
  async function changeMembers(
    operator: Operator,
    values: SettingsChange,
    condition: Condition = {},
  ) {
    const change = await parse(values);
    const seen = operator.isMachine ? await conditionOfMachine(change, condition) : condition;
    const { before, after } = await settings.replace((current) => {
      assertVersion(settingsView(current), seen);
      return change;
    });
    const changes = settingsChangesOf(before, after);
    if (changes.length > 0) {
      await record(operator, { event: 'settings_changed', changes });
    }
    return settingsView(after);
  }

  return {
    /** What is declared, without secrets, and what that means. */
    async read() {
      const { definition, ...inForce } = await settings.read();
      return {
        settings: settingsView(definition),
        effective: { roles: [...inForce.roles], lifetimes: lifetimesOf(inForce.lifetimes) },
      };
    },

    /** @param value of the member. Null removes an optional one, and empties another */
    async previewChange(member: SettingsMember, value: unknown) {
      const change = await parse({ [member]: value });
      const { before, after } = await settings.previewReplacement(change);
      return { changes: settingsChangesOf(before, after.definition) };
    },

    changeMembers,

    /** Replaces one member. */
    change: (operator: Operator, member: SettingsMember, value: unknown, condition?: Condition) =>
      changeMembers(operator, { [member]: value }, condition),
  };
}
