import type { Command } from './command.ts';
import { formatTable } from './table.ts';

export function describeCommands(commands: readonly Command[]): string {
  const rows = commands.map((command) => [`  ${usage(command)}`, command.summary]);
  return [
    'Usage: npm run gatehouse -- <group> <verb> [arguments] [options]',
    '',
    formatTable(rows),
    '',
    'Every command takes --json (for scripts) and --help.',
    'The store is found as the servers find it: DATA_DIR, or STORE_URL and MASTER_KEY_FILE.',
    'Passwords and tokens are read from standard input or asked for, never taken as arguments.',
    'Exit codes: 0 done, 1 refused or failed, 2 called wrongly.',
  ].join('\n');
}

export function describeCommand(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, option]) => [
    `  --${name}${option.type === 'string' ? ' <value>' : ''}`,
    `${option.description}${option.multiple === true ? ' (may be repeated)' : ''}`,
  ]);
  return [
    `Usage: npm run gatehouse -- ${usage(command)} [options]`,
    '',
    command.summary,
    ...(command.notes ?? []),
    '',
    formatTable([...options, ['  --json', 'Write JSON, for scripts.'], ['  --help', 'Show this.']]),
  ].join('\n');
}

function usage({ name, positionals = [] }: Command): string {
  return [name, ...positionals.map((each) => `<${each}>`)].join(' ');
}
