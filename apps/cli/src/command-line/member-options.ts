/** Options that set members of a client or a user: `--grant-type` sets `grantTypes`. */
import type { IllegalArgument } from '@gatehouse/errors';
import { RejectedChangeError } from '@gatehouse/identity';
import { type CommandInput, type Options, optionName, UsageError } from './command.ts';
import type { Terminal } from './terminal.ts';

/** Members whose option is not their singular. */
const shortNames: Readonly<Record<string, string>> = {
  orgId: 'org',
  ipAllowList: 'ipAllow',
  jwks: 'jwks',
  keepTokens: 'keepTokens',
  severities: 'severity',
};
/** Members that a command takes as an argument. */
const argumentNames: ReadonlySet<string> = new Set(['id', 'clientId', 'username', 'requestId']);

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
    /** The members that the command names, after it. */
    change(existing: Readonly<Record<string, unknown>>, input: CommandInput) {
      const replaced = read(input);
      const changed = changes(input).map(({ member, added, removed }) => [
        member,
        changedList(listOf(replaced[member] ?? existing[member]), added, removed),
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

/**
 * The public keys that a command names. Keys replace an address of keys, and the reverse. An empty
 * address removes it.
 */
export async function readKeys(
  { jwks, jwksUri, backchannelLogoutUri }: Readonly<Record<string, unknown>>,
  { readBytes }: Pick<Terminal, 'readBytes'>,
): Promise<Readonly<Record<string, unknown>>> {
  const removed = backchannelLogoutUri === '' ? { backchannelLogoutUri: null } : {};
  if (jwks === undefined && jwksUri === undefined) {
    return removed;
  }
  const keys = jwks ? parseKeys((await readBytes(String(jwks))).toString()) : null;
  return { ...removed, jwks: keys, jwksUri: jwksUri || null };
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

/** An invalid member by its option. */
export const describeProblem = ({ property, message }: IllegalArgument): string =>
  `${describePath(property.split('.'))}: ${message}`;

/** `--scope (entry 2)` for `scopes.1`. */
function describePath([member = '', index = '']: readonly string[]): string {
  // No option has these: their values never are arguments.
  const isSecret = member === 'secureKey' || member === 'password';
  const entered = argumentNames.has(member) ? `<${member}>` : `--${optionOf(member)}`;
  const name = isSecret ? member : entered;
  return /^\d+$/.test(index) ? `${name} (entry ${Number(index) + 1})` : name;
}
