import { parseArgs } from 'node:util';
import { type Command, type CommandInput, type OptionValue, UsageError } from './command.ts';

export type ParsedCommand =
  | { readonly help: true; readonly command?: Command; readonly among: readonly Command[] }
  | { readonly help: false; readonly command: Command; readonly input: CommandInput };

/** @throws UsageError, which never quotes a value */
export function parseCommand(args: readonly string[], commands: readonly Command[]): ParsedCommand {
  const wantsHelp = args.includes('--help') || args.includes('-h');
  const [group, verb] = args.filter((arg) => !arg.startsWith('-'));
  const among = commands.filter(({ name }) => name.split(' ')[0] === group);
  if (group === undefined || (wantsHelp && (among.length === 0 || verb === undefined))) {
    return { help: true, among: among.length === 0 ? commands : among };
  }
  const command = among.find(({ name }) => name === `${group} ${verb}`);
  if (command === undefined) {
    throw new UsageError('Unknown command. The commands are:', [
      ...(among.length === 0 ? commands : among).map(({ name }) => name),
    ]);
  }
  return wantsHelp
    ? { help: true, command, among: [command] }
    : { help: false, command, input: parseInput(args, command) };
}

function parseInput(args: readonly string[], command: Command): CommandInput {
  const options = Object.entries(command.options ?? {}).map(
    ([name, { type, multiple = false }]) => [name, { type, multiple }] as const,
  );
  const parsed = parseArguments(args, command, {
    ...Object.fromEntries(options),
    json: { type: 'boolean' },
  });
  const names = command.positionals ?? [];
  const given = parsed.positionals.slice(2);
  const missing = names[given.length];
  if (missing !== undefined) {
    throw new UsageError(`${command.name} needs <${missing}>.`, [hint(command)]);
  }
  if (given.length > names.length) {
    const message = `${command.name} takes ${names.length} argument(s), but got ${given.length}.`;
    throw new UsageError(message, [hint(command)]);
  }
  return {
    positionals: Object.fromEntries(names.map((name, i) => [name, given[i] ?? ''])),
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
    // The message of parseArgs names the option first. The rest may quote a value.
    const [, name] = /'(--?[a-z-]+)/.exec(error instanceof Error ? error.message : '') ?? [];
    const option = name === undefined ? 'an option' : `the option ${name}`;
    throw new UsageError(`${command.name} does not accept ${option} in this form.`, [
      hint(command),
    ]);
  }
}

function hint({ name }: Command): string {
  return `Run "npm run gatehouse -- ${name} --help" for help.`;
}
