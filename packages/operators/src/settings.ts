/** The settings of the installation: what is declared, what is in force, and the change of a member. */
import {
  assertApplicable,
  bootstrapSchema,
  lifetimesOf,
  type SettingsDefinition,
  type SettingsMember,
  settingsChangesOf,
  settingsMembers,
  withoutSecrets,
} from '@gatehouse/identity';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { z } from 'zod';
import {
  assertVersion,
  type Condition,
  type Dependencies,
  type Operator,
  OperatorError,
  parseInput,
  withVersion,
} from './operator.ts';

export const settingsMember = z.enum(Object.keys(settingsMembers) as SettingsMember[]);

/** The schema of each member, which is replaced as a whole. */
export const settingsSchemas = Object.fromEntries(
  settingsMember.options.map((member) => [member, bootstrapSchema.shape[member]]),
) as Pick<typeof bootstrapSchema.shape, SettingsMember>;

const viewOf = (definition: SettingsDefinition) => withVersion(withoutSecrets(definition));

export function createSettingsActs({ identity, record }: Dependencies) {
  const { settings } = identity;

  /** The member after the change, and what it names exists. */
  async function parse(
    member: SettingsMember,
    value: unknown,
  ): Promise<Partial<SettingsDefinition>> {
    const schema = z.object({ [parseInput(settingsMember, member)]: settingsSchemas[member] });
    const change = parseInput(schema, { [member]: value ?? undefined });
    const empty = bootstrapSchema.parse({});
    try {
      await assertApplicable({ ...empty, ...change }, identity);
    } catch (error) {
      throw error instanceof ConfigurationError ? invalid(error) : error;
    }
    return { [member]: undefined, ...change };
  }

  return {
    /** What is declared, without secrets, and what that means. */
    async read() {
      const { definition, ...inForce } = await settings.read();
      return {
        settings: viewOf(definition),
        effective: { roles: [...inForce.roles], lifetimes: lifetimesOf(inForce.lifetimes) },
      };
    },

    /** @param value of the member. Null removes an optional one, and empties another */
    async previewChange(member: SettingsMember, value: unknown) {
      const { definition } = await settings.preview({});
      const after = { ...definition, ...(await parse(member, value)) };
      return { changes: settingsChangesOf(definition, after) };
    },

    /** Replaces one member as a whole. An absent client secret of an upstream provider stays. */
    async change(
      operator: Operator,
      member: SettingsMember,
      value: unknown,
      condition: Condition = {},
    ) {
      const change = await parse(member, value);
      const { before, after } = await settings.replace((current) => {
        assertVersion(viewOf(current), condition);
        return change;
      });
      const changes = settingsChangesOf(before, after);
      if (changes.length > 0) {
        await record(operator, { event: 'settings_changed', changes });
      }
      return viewOf(after);
    },
  };
}

function invalid({ problems }: ConfigurationError): OperatorError {
  const found = problems.map(({ name, message }) => ({
    property: name.replace('BOOTSTRAP_FILE ', ''),
    message,
  }));
  const listed = found.map(({ property, message }) => `${property}: ${message}`);
  return new OperatorError('illegal_argument', `${listed.join('. ')}.`, found);
}
