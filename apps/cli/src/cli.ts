/**
 * The commands for operators: `gatehouse <group> <verb> …`
 *
 *   arguments ─▶ command-line/ ─▶ open-identity-store ─▶ commands/ ─▶ text or JSON, exit code
 *
 * The commands change the store, and read the same environment as the servers. No server has to
 * run; running servers apply a change within a second. The rules for clients and users are in
 * packages/identity, which the bootstrap file also uses.
 *
 * A new command is an entry in a file of commands/. A new group is a line in the list below.
 */
import type { AuditEvent } from '@gatehouse/identity';
import { OperatorError, openOperators } from '@gatehouse/operators';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { StoreUnavailableError } from '@gatehouse/store';
import { auditCommands } from './audit/audit.ts';
import { backupCommands } from './backup/backup.ts';
import {
  type Command,
  type CommandInput,
  type CommandResult,
  UsageError,
} from './command-line/command.ts';
import { describeProblem } from './command-line/member-options.ts';
import { parseArguments } from './command-line/parse-arguments.ts';
import { withCurrentName } from './command-line/renamed-commands.ts';
import { assertConfirmed, type CliStreams, createTerminal } from './command-line/terminal.ts';
import { applyCommand, exportCommand } from './commands/apply.ts';
import { declarationCommands } from './commands/bootstrap.ts';
import { clientKeyCommands } from './commands/client-keys.ts';
import { clientCommands } from './commands/clients.ts';
import { masterKeyCommand } from './commands/master-key.ts';
import { openManagementApi } from './commands/open-management-api.ts';
import { organizationCommands } from './commands/organizations.ts';
import { reasonsCommand } from './commands/reasons.ts';
import { removeCommands } from './commands/remove.ts';
import { requestCommands } from './commands/requests.ts';
import { signCommand } from './commands/sign.ts';
import { revokeCommand } from './commands/tokens.ts';
import { userCommands } from './commands/users.ts';
import { verifyCommand } from './commands/verify.ts';
import { doctorCommand } from './doctor/doctor.ts';
import { openIdentityStore, operatorOf } from './open-identity-store.ts';

export const commands: readonly Command[] = [
  ...declarationCommands,
  applyCommand,
  exportCommand,
  ...organizationCommands,
  ...clientCommands,
  ...clientKeyCommands,
  ...userCommands,
  ...removeCommands,
  revokeCommand,
  masterKeyCommand,
  ...backupCommands,
  ...auditCommands,
  ...requestCommands,
  reasonsCommand,
  doctorCommand,
  signCommand,
  verifyCommand,
];

/**
 * @returns the exit code: 0 success, 1 the command failed, 2 invalid usage, 3 a dry run found a
 *   difference
 */
export async function runCli(
  entered: readonly string[],
  streams: CliStreams,
): Promise<0 | 1 | 2 | 3> {
  const { output, errors } = streams;
  const asJson = entered.includes('--json');
  const warn = (warning: string) =>
    errors.write(asJson ? `${JSON.stringify({ warning })}\n` : `Warning: ${warning}\n`);
  try {
    const parsed = parseArguments(withCurrentName(entered, warn), commands);
    if (parsed.help !== undefined) {
      output.write(`${parsed.help}\n`);
      return 0;
    }
    const result = await runCommand(parsed.command, parsed.input, streams, warn);
    if (result !== undefined) {
      output.write(`${asJson ? JSON.stringify(result.json) : result.text}\n`);
    }
    return result?.isFailure === true ? 1 : result?.isDifferent === true ? 3 : 0;
  } catch (error) {
    const [message = '', ...problems] = describeFailure(error);
    errors.write(
      asJson
        ? `${JSON.stringify({ error: { message, problems } })}\n`
        : `${[message, ...problems].join('\n  ')}\n`,
    );
    return isUsage(error) ? 2 : 1;
  }
}

async function runCommand(
  command: Command,
  input: CommandInput,
  streams: CliStreams,
  warn: (warning: string) => void,
): Promise<CommandResult | undefined> {
  const { environment } = streams;
  const terminal = createTerminal(streams);
  const operator = operatorOf(environment);
  const confirm = (question: string) => assertConfirmed(input, terminal, question);
  const context = { ...{ environment, terminal, warn }, ...{ operator, confirm } };
  if ('runOffline' in command) {
    return command.runOffline(input, context);
  }
  if ('runDeclarations' in command && input.options.api !== undefined) {
    const declarations = await openManagementApi(input, context);
    return command.runDeclarations(input, { ...context, declarations });
  }
  const { identity, settings, warnings, close } = await openIdentityStore(environment);
  warnings.forEach(warn);
  const { signingKeyPolicy } = settings;
  const operators = openOperators(identity, { signingKeyPolicy });
  const { declarations } = operators;
  const audit = (event: AuditEvent) => operators.record(operator, event);
  try {
    return await ('runDeclarations' in command
      ? command.runDeclarations(input, { ...context, declarations })
      : command.run(input, { ...context, identity, settings, operators, audit }));
  } finally {
    await close();
  }
}

const isInvalid = (error: unknown): error is OperatorError =>
  error instanceof OperatorError && error.code === 'illegal_argument';

const isUsage = (error: unknown): boolean => error instanceof UsageError || isInvalid(error);

function describeFailure(error: unknown): readonly string[] {
  if (error instanceof UsageError) {
    return [error.message, ...error.problems];
  }
  if (isInvalid(error)) {
    return ['Invalid input:', ...error.problems.map(describeProblem)];
  }
  if (error instanceof ConfigurationError) {
    const problems = error.problems.map(({ name, message }) => `${name}: ${message}`);
    return ['Invalid configuration:', ...problems];
  }
  if (error instanceof StoreUnavailableError) {
    const reason = error.reason === undefined ? '' : `${error.reason} `;
    return [
      `The store is unavailable. ${reason}Check that STORE_URL is correct and that the store runs.`,
      'The command stopped at this point. Changes that it already reported are saved.',
    ];
  }
  return [error instanceof Error ? error.message : 'The command failed.'];
}
