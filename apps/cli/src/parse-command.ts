import { parseArgs } from 'node:util';
import { type Command, type CommandInput, type OptionValue, UsageError } from './command.ts';

/** What the words on the command line ask for. */
export type Call =
  | { readonly help: true; readonly command?: Command; readonly among: readonly Command[] }
  | { readonly help: false; readonly command: Command; readonly input: CommandInput };

/** @throws UsageError naming what is wrong, never quoting a value */
export function parseCommand(words: readonly string[], commands: readonly Command[]): Call {
  const wantsHelp = words.includes('--help') || words.includes('-h');
  const [group, verb] = words.filter((word) => !word.startsWith('-'));
  const among = commands.filter(({ name }) => name.split(' ')[0] === group);
  if (group === undefined || (wantsHelp && (among.length === 0 || verb === undefined))) {
    return { help: true, among: among.length === 0 ? commands : among };
  }
  const command = among.find(({ name }) => name === `${group} ${verb}`);
  if (command === undefined) {
    throw new UsageError('There is no such command. The commands are:', [
      ...(among.length === 0 ? commands : among).map(({ name }) => name),
    ]);
  }
  return wantsHelp
    ? { help: true, command, among: [command] }
    : { help: false, command, input: parseInput(words, command) };
}

function parseInput(words: readonly string[], command: Command): CommandInput {
  const options = Object.entries(command.options ?? {}).map(
    ([name, { type, multiple = false }]) => [name, { type, multiple }] as const,
  );
  const parsed = parseWords(words, command, {
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
    const message = `${command.name} takes ${names.length} argument(s), ${given.length} were given.`;
    throw new UsageError(message, [hint(command)]);
  }
  return {
    positionals: Object.fromEntries(names.map((name, i) => [name, given[i] ?? ''])),
    options: parsed.values as Readonly<Record<string, OptionValue>>,
  };
}

function parseWords(
  words: readonly string[],
  command: Command,
  options: NonNullable<Parameters<typeof parseArgs>[0]>['options'] & object,
) {
  try {
    return parseArgs({
      args: [...words],
      options,
      allowPositionals: true,
      allowNegative: true,
      strict: true,
    });
  } catch (error) {
    // Its message names the option; what follows may quote a value.
    const [, name] = /'(--?[a-z-]+)/.exec(error instanceof Error ? error.message : '') ?? [];
    const what = name === undefined ? 'an option' : `the option ${name}`;
    throw new UsageError(`${command.name} cannot be called with ${what} like this.`, [
      hint(command),
    ]);
  }
}

function hint({ name }: Command): string {
  return `gatehouse ${name} --help says how.`;
}
