import { parseArgs } from 'node:util';
import { closestName } from './closest-name.ts';
import { type Command, type CommandInput, type OptionValue, UsageError } from './command.ts';

export type ParsedCommand =
  | { readonly help: true; readonly command?: Command; readonly among: readonly Command[] }
  | { readonly help: false; readonly command: Command; readonly input: CommandInput };

/** @throws UsageError, which never quotes a value */
export function parseCommand(args: readonly string[], commands: readonly Command[]): ParsedCommand {
  const wantsHelp = args.includes('--help') || args.includes('-h');
  const [group, verb] = args.filter((arg) => !arg.startsWith('-'));
  const among = commands.filter(({ name }) => name.split(' ')[0] === group);
  const command = among.find(({ name }) => name === group || name === `${group} ${verb}`);
  if (group === undefined || (wantsHelp && command === undefined && isGroup(among, verb))) {
    return { help: true, among: among.length === 0 ? commands : among };
  }
  if (command === undefined) {
    const names = commands.map(({ name }) => name);
    const meant = closestName(`${group} ${verb ?? ''}`.trim(), names);
    const known = (among.length === 0 ? commands : among).map(({ name }) => name);
    throw new UsageError(
      meant === undefined || verb === undefined
        ? 'Unknown command. The commands are:'
        : `Unknown command. Did you mean "${meant}"? The commands are:`,
      known,
    );
  }
  return wantsHelp
    ? { help: true, command, among: [command] }
    : { help: false, command, input: parseInput(args, command) };
}

/** Whether only the group is named. The help of an unknown group lists all commands. */
function isGroup(among: readonly Command[], verb: string | undefined): boolean {
  return among.length === 0 || verb === undefined;
}

function parseInput(args: readonly string[], command: Command): CommandInput {
  const options = Object.entries(command.options ?? {}).map(
    ([name, { type, multiple = false }]) => [name, { type, multiple }] as const,
  );
  const parsed = parseArguments(args, command, {
    ...Object.fromEntries(options),
    json: { type: 'boolean' },
  });
  const required = command.positionals ?? [];
  const { optionalPositional } = command;
  const names = optionalPositional === undefined ? required : [...required, optionalPositional];
  const given = parsed.positionals.slice(command.name.split(' ').length);
  const missing = required[given.length];
  if (missing !== undefined) {
    throw new UsageError(`gatehouse ${command.name} needs <${missing}>.`, [hint(command)]);
  }
  if (given.length > names.length) {
    const message = `gatehouse ${command.name} takes ${names.length} argument(s), but got ${given.length}.`;
    throw new UsageError(message, [hint(command)]);
  }
  return {
    positionals: Object.fromEntries(
      names.slice(0, given.length).map((name, i) => [name, given[i] ?? '']),
    ),
    options: parsed.values as Readonly<Record<string, OptionValue>>,
  };
}

function parseArguments(
  args: readonly string[],
  command: Command,
  options: NonNullable<Parameters<typeof parseArgs>[0]>['options'] & object,
) {
  try {
    return parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      allowNegative: true,
      strict: true,
    });
  } catch (error) {
    throw new UsageError(describeOptionError(error, command, Object.keys(options)), [
      hint(command),
    ]);
  }
}

/** The message of parseArgs names the option first. The rest may quote a value. */
function describeOptionError(error: unknown, command: Command, names: readonly string[]): string {
  const { message = '', code = '' } = error as Partial<NodeJS.ErrnoException>;
  const [, entered] = /'(--?[a-z-]+)/.exec(message) ?? [];
  if (entered === undefined) {
    return `${command.name} does not accept an option in this form.`;
  }
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = [...names, 'help'].map((name) => `--${name}`);
    const meant = closestName(entered, known);
    const suggestion = meant === undefined ? '' : ` Did you mean ${meant}?`;
    return `${command.name} has no option ${entered}.${suggestion}`;
  }
  const name = entered.replace(/^--(no-)?/, '');
  return command.options?.[name]?.type === 'string'
    ? `The option ${entered} needs a value. If the value starts with a dash, write ${entered}=VALUE.`
    : `The option ${entered} takes no value.`;
}

function hint({ name }: Command): string {
  return `Run "gatehouse ${name} --help" for help.`;
}
