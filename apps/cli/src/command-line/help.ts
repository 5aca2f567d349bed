import type { Command } from './command.ts';
import { formatTable } from './table.ts';

export function describeCommands(commands: readonly Command[]): string {
  const rows = commands.map((command) => [`  ${usage(command)}`, command.summary]);
  return [
    'Usage: gatehouse <command> [arguments] [options]',
    '',
    formatTable(rows),
    '',
    'Every command accepts --json (output for scripts) and --help.',
    'Commands that disable or revoke ask for confirmation. Scripts add --yes. Without it, and without a',
    'terminal, these commands change nothing and exit with 1.',
    'gatehouse help <command> shows its options, and gatehouse version prints the version.',
    'Run it as npx gatehouse, npm run -s gatehouse --, or docker compose run --rm gatehouse.',
    'reasons, sign, verify and audit verify need neither the store nor a server.',
    'The other commands find the store as the servers do: with DATA_DIR, or with STORE_URL and',
    'MASTER_KEY_FILE.',
    'Enter passwords, tokens and keys at the prompt or on standard input, never as arguments.',
    'Exit codes: 0 success, 1 the command failed or verify found a mistake, 2 invalid usage.',
  ].join('\n');
}

export function describeCommand(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, option]) => [
    `  --${name}${option.type === 'string' ? ' <value>' : ''}`,
    `${option.description}${option.multiple === true ? ' Can be repeated.' : ''}`,
  ]);
  return [
    `Usage: gatehouse ${usage(command)} [options]`,
    '',
    command.summary,
    ...(command.notes ?? []),
    '',
    formatTable([
      ...options,
      ['  --json', 'Print JSON, for scripts.'],
      ['  --help', 'Show this help.'],
    ]),
  ].join('\n');
}

function usage({ name, positionals = [], optionalPositional }: Command): string {
  return [
    name,
    ...positionals.map((each) => `<${each}>`),
    ...(optionalPositional === undefined ? [] : [`[${optionalPositional}]`]),
  ].join(' ');
}
