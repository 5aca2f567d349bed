/** Options that set members of a client or a user: `--grant-type` sets `grantTypes`. */
import { type Client, type Identity, RejectedChangeError } from '@gatehouse/identity';
import { readableIssue } from '@gatehouse/server/configuration';
import type { z } from 'zod';
import { type CommandInput, type Options, optionName, UsageError } from './command.ts';
import type { Terminal } from './terminal.ts';

/** Members whose option is not their singular. */
const shortNames: Readonly<Record<string, string>> = {
  orgId: 'org',
  ipAllowList: 'ipAllow',
  jwks: 'jwks',
};
/** Members that a command takes as an argument. */
const argumentNames: ReadonlySet<string> = new Set(['id', 'clientId', 'username']);

/**
 * @param shape of the schema, which checks the values
 * @param options those of the members
 */
export function createMemberOptions(shape: object, options: Options) {
  const forms = Object.keys(options);
  const names = forms.map(optionName);
  const members = Object.keys(shape).filter((member) => names.includes(optionOf(member)));
  const changeOptions: Options = Object.fromEntries(
    forms
      .filter((form) => form.endsWith('...>'))
      .flatMap((form) => [
        [`add-${form}`, `Entry to add to --${optionName(form)}.`],
        [`remove-${form}`, `Entry to remove from --${optionName(form)}.`],
      ]),
  );
  /** The options as members. Empty if the command names none. */
  const read = (input: CommandInput): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      members
        .map((member) => [member, input.options[singularOf(member)]])
        .filter(([, value]) => value !== undefined),
    );
  /** The lists that `--add-scope` and `--remove-scope` change. */
  const changes = ({ options: given }: CommandInput) =>
    members.flatMap((member) => {
      const name = singularOf(member).replace(/^./, (letter) => letter.toUpperCase());
      const [added, removed] = [given[`add${name}`], given[`remove${name}`]].map(listOf);
      return added === undefined && removed === undefined ? [] : [{ member, added, removed }];
    });
  return {
    options,
    /** Those of a new record, and `--add-scope` and `--remove-scope` for every list. */
    allOptions: { ...options, ...changeOptions },
    read,
    isNamed: (input: CommandInput) =>
      Object.keys(read(input)).length > 0 || changes(input).length > 0,
    /** The members after the command. */
    change(existing: Readonly<Record<string, unknown>>, input: CommandInput) {
      const replaced: Readonly<Record<string, unknown>> = { ...existing, ...read(input) };
      const changed = changes(input).map(({ member, added, removed }) => [
        member,
        changedList(listOf(replaced[member]), added, removed),
      ]);
      return { ...replaced, ...Object.fromEntries(changed) };
    },
  };
}

function listOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** `redirectUri` for `redirectUris`. */
function singularOf(member: string): string {
  return shortNames[member] ?? member.replace(/s$/, '');
}

/** `redirect-uri` for `redirectUris`. */
function optionOf(member: string): string {
  return singularOf(member).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * The list with additions and without removals, each entry once.
 *
 * @throws RejectedChangeError if an entry to remove is not in the list, which can be a misspelling
 */
function changedList(
  existing: readonly string[] = [],
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

export type Keys = Partial<Pick<Client, 'jwks' | 'jwksUri' | 'backchannelLogoutUri'>>;

/**
 * The public keys that a command names. Keys replace an address of keys, and the reverse. An empty
 * address removes it.
 */
export async function readKeys(
  { jwks, jwksUri, backchannelLogoutUri }: Readonly<Record<string, unknown>>,
  { readBytes }: Pick<Terminal, 'readBytes'>,
): Promise<Keys> {
  const removed = backchannelLogoutUri === '' ? { backchannelLogoutUri: undefined } : {};
  if (jwks === undefined && jwksUri === undefined) {
    return removed;
  }
  const text = jwks ? (await readBytes(String(jwks))).toString() : undefined;
  return { ...removed, jwks: text && parseKeys(text), jwksUri: jwksUri || undefined } as Keys;
}

function parseKeys(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('The file of --jwks is not JSON.');
  }
}

/** @throws UsageError for both options */
export function readEnabled({ options }: CommandInput): boolean | undefined {
  const [disable, enable] = [options.disable === true, options.enable === true];
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
