import type { AuditEvent, Identity, IdentitySettings } from '@gatehouse/identity';
import type { Environment } from '@gatehouse/server/configuration';
import type { Terminal } from './terminal.ts';

/** The option `--name`. */
export interface Option {
  /** The name of its value, such as `id`. Without one, the option is a switch. */
  readonly value?: string;
  /** The option can be repeated. */
  readonly multiple?: boolean;
  /** The switch also has the form `--no-name`. */
  readonly negatable?: boolean;
  readonly description: string;
}

export type Options = Readonly<Record<string, Option>>;

export type OptionValue = string | boolean | readonly string[] | undefined;

export interface CommandInput {
  /** By the names in `Command.usage`. An optional one that was omitted is undefined. */
  readonly positionals: Readonly<Record<string, string | undefined>>;
  readonly options: Readonly<Record<string, OptionValue>>;
}

/** What every command gets. */
export interface OfflineContext {
  readonly environment: Environment;
  readonly terminal: Terminal;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Prints a warning while the command runs. */
  warn(message: string): void;
}

/** What the commands of operators get. */
export interface CommandContext extends OfflineContext {
  readonly identity: Identity;
  readonly settings: IdentitySettings;
  /** Records a change. If recording fails, the command fails. */
  audit(event: AuditEvent): Promise<void>;
}

/**
 * The command prints one of the two to standard output. Secrets appear only here. A command that
 * has printed its output returns undefined.
 */
export interface CommandResult {
  /** For scripts, which rely on its shape. */
  readonly json: unknown;
  /** For people. */
  readonly text: string;
  /** The command worked, but found that its input is wrong: exit code 1. */
  readonly isFailure?: boolean;
}

interface CommandDescription {
  /** Group, verb and arguments: `clients show <clientId>`. Without a store, one word is enough. */
  readonly usage: string;
  readonly summary: string;
  readonly options?: Options;
  /** Additional lines of the help text. */
  readonly notes?: readonly string[];
  /** Arguments and options of the example in the help text. */
  readonly example: string;
}

/** A command for operators. */
export interface StoreCommand extends CommandDescription {
  /** @throws UsageError, RejectedChangeError, StoreUnavailableError */
  run(input: CommandInput, context: CommandContext): Promise<CommandResult | undefined>;
}

/** A command that works without a store and a server. */
export interface OfflineCommand extends CommandDescription {
  /** @throws UsageError */
  runOffline(input: CommandInput, context: OfflineContext): Promise<CommandResult | undefined>;
}

export type Command = StoreCommand | OfflineCommand;

/** The name of a command, without its arguments. */
export const nameOf = ({ usage }: Pick<Command, 'usage'>): string => usage.replace(/ [<[].*/, '');

/**
 * Invalid usage: exit code 2. The message never quotes a value, because a secret could be in the
 * wrong place.
 */
export class UsageError extends Error {
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[] = []) {
    super(message);
    this.name = 'UsageError';
    this.problems = problems;
  }
}

export function text(value: OptionValue): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function texts(value: OptionValue): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => each !== '') : undefined;
}

/**
 * The pairs of an option `--attribute name=value`, which can be repeated.
 *
 * @throws UsageError for a value without an equals sign
 */
export function pairs({ options }: CommandInput, name: string) {
  return (texts(options[name]) ?? []).map((each): [string, string] => {
    const equals = each.indexOf('=');
    if (equals < 1) {
      throw new UsageError('Invalid input:', [`--${name}: must be name=value`]);
    }
    return [each.slice(0, equals), each.slice(equals + 1)];
  });
}

export function flag(value: OptionValue): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
