/** The commands as a program of commander, which parses arguments, and prints help and suggestions. */
import { type CommanderError, Option as ParserOption, Command as Program } from 'commander';
import { release } from '../open-identity-store.ts';
import { type Command, type CommandInput, nameOf, optionName, UsageError } from './command.ts';

export type ParsedArguments =
  /** The help, the version or the completion script, which are only printed. */
  | { readonly help: string }
  | { readonly help: undefined; readonly command: Command; readonly input: CommandInput };

const HELP_WIDTH = 100;

const closing = `
Commands that disable, revoke or delete ask for confirmation. Scripts add --yes. Without it, and
without a terminal, these commands change nothing and exit with 1.
gatehouse help <command> shows its options and an example. gatehouse version prints the version.
gatehouse completion prints a script for bash and zsh: source <(gatehouse completion)
Run it as npx gatehouse, npm run -s gatehouse --, or docker compose run --rm gatehouse.

reasons, sign, verify and audit verify need neither the store nor a server. The other commands find
the store as the servers do: with DATA_DIR, or with STORE_URL and MASTER_KEY_FILE.
Enter passwords, tokens and keys at the prompt or on standard input, never as arguments.
Exit codes: 0 success, 1 the command failed or found a mistake, 2 invalid usage, 3 apply --dry-run
found a difference.`;

/** @throws UsageError, which never quotes a value */
export function parseArguments(
  args: readonly string[],
  commands: readonly Command[],
): ParsedArguments {
  let help = '';
  let found: ParsedArguments | undefined;
  const program = describeProgram((text) => {
    help += text;
  });
  for (const command of commands) {
    addCommand(program, command, (input) => {
      found = { help: undefined, command, input };
    });
  }
  const [first, ...others] = args;
  if (first === 'completion') {
    return { help: completionScript(commands) };
  }
  if (first === 'version' || first === '--version') {
    return { help: `gatehouse ${release}` };
  }
  try {
    const words = first === undefined || first === 'help' ? [...others, '--help'] : args;
    program.parse(words, { from: 'user' });
  } catch (error) {
    if (help === '') {
      throw error;
    }
  }
  return found ?? { help: help.trimEnd() };
}

function describeProgram(writeHelp: (text: string) => void): Program {
  const program = new Program('gatehouse')
    .usage('<command> [arguments] [options]')
    .option('--json', 'Print JSON, for scripts.')
    .helpOption('--help', 'Show this help.')
    .helpCommand(false)
    .addHelpText('after', closing)
    .configureOutput({
      writeOut: writeHelp,
      outputError: () => undefined,
      writeErr: () => undefined,
      getOutHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
    })
    .configureHelp({
      showGlobalOptions: true,
      // The whole list, in place of the groups.
      visibleCommands: (command) =>
        command.commands.flatMap((each) => (each.commands.length === 0 ? each : each.commands)),
      subcommandTerm: (command) =>
        `${pathOf(command).join(' ')} ${command.usage()}`.replace(' [options]', ''),
    });
  return reportErrors(program);
}

function addCommand(
  program: Program,
  command: Command,
  onCall: (input: CommandInput) => void,
): void {
  const [group = '', verb] = nameOf(command).split(' ');
  const parent = verb === undefined ? program : groupOf(program, group);
  const terms = command.usage.split(' ');
  const added = reportErrors(parent.command(terms.slice(parent === program ? 0 : 1).join(' ')))
    .summary(command.summary)
    .description([command.summary, ...(command.notes ?? [])].join('\n'))
    .addHelpText('after', `\nExample:\n  gatehouse ${nameOf(command)} ${command.example}`);
  for (const [form, description] of Object.entries(command.options ?? {})) {
    addOption(added, form, description);
  }
  added.action(() => {
    const names = added.registeredArguments.map((each) => each.name());
    onCall({
      positionals: Object.fromEntries(names.map((name, index) => [name, added.args[index]])),
      options: added.optsWithGlobals(),
    });
  });
}

function groupOf(program: Program, name: string): Program {
  return (
    program.commands.find((each) => each.name() === name) ??
    reportErrors(program.command(name)).usage('<command> [arguments] [options]').helpCommand(false)
  );
}

function addOption(command: Program, form: string, description: string): void {
  const name = optionName(form);
  if (form.endsWith('...>')) {
    // The parser would read all words that follow as values. An empty value clears the list.
    const add = (entry: string, entries: readonly string[] = []) =>
      [...entries, entry].filter(Boolean);
    const flags = `--${form.replace('...', '')}`;
    command.option(flags, `${description} Can be repeated.`, add);
  } else if (form.startsWith('[no-]')) {
    command.option(`--${name}`, `${description} Opposite: --no-${name}.`);
    command.addOption(new ParserOption(`--no-${name}`).hideHelp());
  } else {
    command.option(form.startsWith(`${form[0]}, `) ? `-${form}` : `--${form}`, description);
  }
}

function pathOf(command: Program): readonly string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()];
}

function reportErrors(program: Program): Program {
  return program.exitOverride((error) => {
    throw usageError(error, program);
  });
}

/** The message of the parser, without the values that it quotes. */
function usageError({ code, message }: CommanderError, program: Program): UsageError {
  const path = ['gatehouse', ...pathOf(program)].join(' ');
  const hint = `Run "${path} --help" for help.`;
  const isValue = ['commander.unknownCommand', 'commander.excessArguments'].includes(code);
  const text = message
    .replace(/^error: /, '')
    .replace(/'(--?[\w-]*)=.*?'/s, "'$1=…'")
    .replace(isValue ? / '.*?'/s : '', '')
    .replace(/: [^\n]*$/, '');
  if (code === 'commander.help') {
    return new UsageError(`${path} needs a command.`, [hint]);
  }
  if (code !== 'commander.unknownCommand' || program.parent !== null) {
    return new UsageError(`${path}: ${text.replace('\n', '. ')}`, [hint]);
  }
  // The parser suggests verbs without their group.
  const [, entered = ''] = /'(.{3})/.exec(message) ?? [];
  const meant = program.commands.find((each) => each.name().startsWith(entered))?.name();
  const advice = meant === undefined ? '' : ` Did you mean gatehouse ${meant}?`;
  return new UsageError(`Unknown command.${advice}`, [hint]);
}

/** A script for bash and zsh that completes commands and options. It runs no command. */
function completionScript(commands: readonly Command[]): string {
  const names = commands.map((command) => nameOf(command).split(' '));
  const groups = [...new Set(names.map(([group = '']) => group))];
  const verbs = groups.map((group) => {
    const ofGroup = names.flatMap(([first, verb]) => (first === group && verb ? [verb] : []));
    return [group, ofGroup.length > 0 ? ofGroup.join(' ') : optionsOf(commands, group)] as const;
  });
  const options = names
    .filter(({ length }) => length === 2)
    .map((name) => [name.join(' '), optionsOf(commands, name.join(' '))] as const);
  return `# Completes gatehouse in bash and zsh: source <(gatehouse completion)
[ -n "\${ZSH_VERSION:-}" ] && autoload -U +X bashcompinit && bashcompinit
_gatehouse() {
  local words
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${options.map(([name, each]) => `    '${name}') words='${each}' ;;`).join('\n')}
    *) case "\${COMP_WORDS[1]}" in
${verbs.map(([name, each]) => `      ${name}) words='${each}' ;;`).join('\n')}
    esac ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words='${[...groups, 'help', 'version', 'completion'].join(' ')}'
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gatehouse gatehouse`;
}

function optionsOf(commands: readonly Command[], name: string): string {
  const command = commands.find((each) => nameOf(each) === name);
  return [...Object.keys(command?.options ?? {}), 'json', 'help']
    .map((form) => `--${optionName(form)}`)
    .join(' ');
}
