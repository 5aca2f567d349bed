import type { AuditEvent, Identity, IdentitySettings } from '@gatehouse/identity';
import type { Operator, Operators } from '@gatehouse/operators';
import type { Environment } from '@gatehouse/server/configuration';
import type { Terminal } from './terminal.ts';

/**
 * Descriptions by the form of the option: `name` is a switch, `[no-]name` is one that also has the
 * form `--no-name`, `name <value>` has a value, and `name <value...>` can be repeated. `f, --name` has a short form.
 */
export type Options = Readonly<Record<string, string>>;

export type OptionValue = string | boolean | readonly string[] | undefined;

export interface CommandInput {
  /** By the names in `Command.usage`. An optional one that was omitted is undefined. */
  readonly positionals: Readonly<Record<string, string | undefined>>;
  /** By the name in camel case: `keyFile` for `--key-file`. An omitted one is undefined. */
  readonly options: Readonly<Record<string, OptionValue>>;
}

/** What every command gets. */
export interface OfflineContext {
  readonly environment: Environment;
  readonly terminal: Terminal;
  /** Prints a warning while the command runs. */
  warn(message: string): void;
}

interface ConfirmingContext extends OfflineContext {
  /** The person who runs the command. */
  readonly operator: Operator;
  /** Asks before a change that revokes access. @throws RejectedChangeError without confirmation */
  confirm(question: string): Promise<void>;
}

/** What the commands of declarations get, which can use the management API instead of the store. */
export interface DeclarationContext extends ConfirmingContext {
  readonly declarations: Operators['declarations'];
}

/** What the commands of operators get. */
export interface CommandContext extends ConfirmingContext {
  readonly identity: Identity;
  readonly settings: IdentitySettings;
  readonly operators: Operators;
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
  /** A dry run found a difference: exit code 3. */
  readonly isDifferent?: boolean;
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

type Run<Context> = (input: CommandInput, context: Context) => Promise<CommandResult | undefined>;

/**
 * A command for operators, or one that works without a store and a server. All throw UsageError,
 * and the others also RejectedChangeError and StoreUnavailableError.
 */
export type Command = CommandDescription &
  (
    | { readonly run: Run<CommandContext> }
    | { readonly runDeclarations: Run<DeclarationContext> }
    | { readonly runOffline: Run<OfflineContext> }
  );

/** The name of a command, without its arguments. */
export const nameOf = ({ usage }: Pick<Command, 'usage'>): string => usage.replace(/ [<[].*/, '');

/** The name of an option, from its form. */
export const optionName = (form: string): string => form.replace(/^\[no-]|^\w, --| <.*/g, '');

/**
 * Invalid usage: exit code 2. The message never quotes a value, because a secret could be in the
 * wrong place.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[] = []) {
    super(message);
    this.problems = problems;
  }
}

export function text(value: OptionValue): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * The pairs of an option `--attribute name=value`, which can be repeated.
 *
 * @throws UsageError for a value without an equals sign
 */
export function pairs({ options }: CommandInput, name: string) {
  const given = options[name];
  return (Array.isArray(given) ? given : []).map((each): [string, string] => {
    const equals = each.indexOf('=');
    if (equals < 1) {
      throw new UsageError('Invalid input:', [`--${name}: must be name=value`]);
    }
    return [each.slice(0, equals), each.slice(equals + 1)];
  });
}
