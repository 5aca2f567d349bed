import type { AuditEvent, Identity } from '@gatehouse/identity';
import type { Terminal } from './terminal.ts';

/** An option as `--name`; `multiple` ones may be given again and again. */
export interface Option {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly description: string;
}

export type OptionValue = string | boolean | readonly string[] | undefined;

export interface CommandInput {
  /** By the names in `positionals`. */
  readonly positionals: Readonly<Record<string, string>>;
  /** What was given; a name that is missing was not. */
  readonly options: Readonly<Record<string, OptionValue>>;
}

export interface CommandContext {
  readonly identity: Identity;
  readonly terminal: Terminal;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Records a change that was made. A failure to do so is the command's failure, and is said. */
  audit(event: AuditEvent): Promise<void>;
}

/** Both are written to standard output, one or the other. Secrets are shown here and never again. */
export interface CommandResult {
  /** For scripts: the shape stays as it is. */
  readonly json: unknown;
  /** For a person. */
  readonly text: string;
}

export interface Command {
  /** Two words: group and verb. */
  readonly name: string;
  readonly summary: string;
  /** All are required. */
  readonly positionals?: readonly string[];
  readonly options?: Readonly<Record<string, Option>>;
  /** Further lines of its help. */
  readonly notes?: readonly string[];
  /** @throws UsageError, RefusedChange, StoreUnavailable */
  run(input: CommandInput, context: CommandContext): Promise<CommandResult>;
}

/** Called wrongly: exit code 2. Never quotes what was given: it may be a secret in the wrong place. */
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
