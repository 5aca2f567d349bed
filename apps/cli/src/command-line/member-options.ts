/**
 * Options that set members of a client or a user. They derive from the schema of the bootstrap
 * file: `grantTypes` becomes `--grant-type`, which can be repeated.
 */
import { type Identity, RejectedChangeError } from '@gatehouse/identity';
import { readableIssue } from '@gatehouse/server/configuration';
import { z } from 'zod';
import {
  type CommandInput,
  flag,
  type Option,
  type Options,
  texts,
  UsageError,
} from './command.ts';

/** Members whose option is not their name. */
const shortNames: Readonly<Record<string, string>> = { orgId: 'org', ipAllowList: 'ip-allow' };
/** Members that a command takes as an argument. */
const argumentNames: ReadonlySet<string> = new Set(['id', 'clientId', 'username']);

/** The description of an option. One with a value has the name of its value first. */
type Description = string | readonly [value: string, description: string];

/** @param descriptions of the members that have an option */
export function createMemberOptions<Member extends string>(
  shape: Readonly<Record<Member, z.ZodType>>,
  descriptions: Readonly<Record<Member, Description>>,
) {
  const members = Object.keys(descriptions) as Member[];
  const options: Options = Object.fromEntries(
    members.map((member) => [optionOf(member), describe(shape[member], descriptions[member])]),
  );
  const lists = members.filter((member) => isArray(shape[member]));
  return {
    options,
    /** `--add-scope` and `--remove-scope`, for every list. */
    listChangeOptions: Object.fromEntries(
      lists.map(optionOf).flatMap((name): [string, Option][] => {
        const { value = 'value' } = options[name] ?? {};
        const change = (verb: string): Option => ({
          value,
          multiple: true,
          description: `Entry to ${verb} --${name}.`,
        });
        return [
          [`add-${name}`, change('add to')],
          [`remove-${name}`, change('remove from')],
        ];
      }),
    ) as Options,
    /** The options as members. Empty if the command names none. */
    read: (input: CommandInput): Readonly<Record<string, unknown>> =>
      Object.fromEntries(
        members.flatMap((member) => {
          const value = input.options[optionOf(member)];
          return value === undefined ? [] : [[member, texts(value) ?? value]];
        }),
      ),
    /** The lists after the additions and removals. Empty if the command names none. */
    changedLists: (
      existing: Readonly<Record<string, unknown>>,
      { options: given }: CommandInput,
    ): Readonly<Record<string, readonly string[]>> =>
      Object.fromEntries(
        lists.flatMap((member) => {
          const name = optionOf(member);
          const [added, removed] = [texts(given[`add-${name}`]), texts(given[`remove-${name}`])];
          const entries = existing[member] as readonly string[];
          const isChanged = added !== undefined || removed !== undefined;
          return isChanged ? [[member, changedList(entries, added, removed)]] : [];
        }),
      ),
  };
}

function describe(schema: z.ZodType, text: Description): Option {
  if (typeof text === 'string') {
    return { description: text, negatable: true };
  }
  const [value, description] = text;
  return { value, multiple: isArray(schema), description };
}

function isArray(schema: z.ZodType): boolean {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodOptional
    ? isArray(schema.unwrap() as z.ZodType)
    : schema instanceof z.ZodArray;
}

/** `redirect-uri` for `redirectUris`. */
function optionOf(member: string): string {
  const words = member.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return shortNames[member] ?? words.replace(/s$/, '');
}

/**
 * The list with additions and without removals, each entry once.
 *
 * @throws RejectedChangeError if an entry to remove is not in the list, which can be a misspelling
 */
function changedList(
  existing: readonly string[],
  added: readonly string[] = [],
  removed: readonly string[] = [],
): readonly string[] {
  const missing = removed.find((entry) => !existing.includes(entry));
  if (missing !== undefined) {
    throw new RejectedChangeError(`Nothing was changed. ${missing} is not in the list.`);
  }
  const kept = existing.filter((entry) => !removed.includes(entry));
  return [...new Set([...kept, ...added])];
}

/** @throws UsageError for both options */
export function readEnabled({ options }: CommandInput): boolean | undefined {
  const [disable, enable] = [flag(options.disable) === true, flag(options.enable) === true];
  if (disable && enable) {
    throw new UsageError('Use either --disable or --enable.');
  }
  return disable || enable ? enable : undefined;
}

/** @throws UsageError that lists every problem by option, without the values */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(value, { error: readableIssue });
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${describePath(path)}: ${message}`,
    );
    throw new UsageError('Invalid input:', problems);
  }
  return parsed.data;
}

/** `--scope (entry 2)` for `scopes.1`. */
function describePath([first, index]: readonly PropertyKey[]): string {
  const member = String(first);
  // No option has these: their values never are arguments.
  const isSecret = member === 'secureKey' || member === 'password';
  const entered = argumentNames.has(member) ? `<${member}>` : `--${optionOf(member)}`;
  const name = isSecret ? member : entered;
  return typeof index === 'number' ? `${name} (entry ${index + 1})` : name;
}

export async function assertOrganizationExists(orgId: string, identity: Identity): Promise<void> {
  if ((await identity.organizations.find(orgId)) === undefined) {
    throw new RejectedChangeError(
      `The organization ${orgId} does not exist. Add it first: gatehouse organizations add ${orgId}`,
    );
  }
}
