import type { AuditEvent, Identity } from '@gatehouse/identity';
import type { Terminal } from './terminal.ts';

/** The option `--name`. */
export interface Option {
  readonly type: 'string' | 'boolean';
  /** The option can be repeated. */
  readonly multiple?: boolean;
  readonly description: string;
}

export type OptionValue = string | boolean | readonly string[] | undefined;

export interface CommandInput {
  /** By the names in `Command.positionals`. */
  readonly positionals: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, OptionValue>>;
}

export interface CommandContext {
  readonly identity: Identity;
  readonly terminal: Terminal;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Records a change. If recording fails, the command fails. */
  audit(event: AuditEvent): Promise<void>;
}

/** The command prints one of the two to standard output. Secrets appear only here. */
export interface CommandResult {
  /** For scripts, which rely on its shape. */
  readonly json: unknown;
  /** For people. */
  readonly text: string;
}

export interface Command {
  /** Two words: group and verb. */
  readonly name: string;
  readonly summary: string;
  /** Required arguments, in order. */
  readonly positionals?: readonly string[];
  readonly options?: Readonly<Record<string, Option>>;
  /** Additional lines of the help text. */
  readonly notes?: readonly string[];
  /** @throws UsageError, RefusedChangeError, StoreUnavailableError */
  run(input: CommandInput, context: CommandContext): Promise<CommandResult>;
}

/**
 * Invalid usage: exit code 2. The message never quotes a value, because a secret could be in the wrong
 * place.
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

export function flag(value: OptionValue): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
