/**
 * The operators' commands, put together here: `npm run gatehouse -- <group> <verb> …`
 *
 *   arguments ─▶ parse-command ─▶ open-identity-store ─▶ commands/* ─▶ text or JSON, exit code
 *
 * They work on the store, with the environment of the servers; no server needs to run, and those that do follow
 * within a second. Deliberately not here: rules for clients and users (packages/identity has them, shared with
 * the bootstrap file).
 */
import { userInfo } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { ConfigurationError, type Environment } from '@gatehouse/configuration';
import { type AuditEvent, type Identity, RefusedChange } from '@gatehouse/identity';
import { StoreUnavailable } from '@gatehouse/store';
import { type Command, type CommandContext, type CommandResult, UsageError } from './command.ts';
import { auditCommands } from './commands/audit.ts';
import { clientCommands } from './commands/clients.ts';
import { organizationCommands } from './commands/organizations.ts';
import { revokeCommands } from './commands/revoke.ts';
import { secureKeyCommands } from './commands/secure-keys.ts';
import { userCommands } from './commands/users.ts';
import { describeCommand, describeCommands } from './help.ts';
import { openIdentityStore } from './open-identity-store.ts';
import { parseCommand } from './parse-command.ts';
import { createTerminal } from './terminal.ts';

export const commands: readonly Command[] = [
  ...organizationCommands,
  ...clientCommands,
  ...secureKeyCommands,
  ...userCommands,
  ...revokeCommands,
  ...auditCommands,
];

export interface CliSurroundings {
  readonly environment: Environment;
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
  readonly errors: Writable;
}

/** @returns the exit code: 0 done, 1 refused or failed, 2 called wrongly */
export async function runCli(
  words: readonly string[],
  surroundings: CliSurroundings,
): Promise<0 | 1 | 2> {
  const { output, errors } = surroundings;
  const asJson = words.includes('--json');
  try {
    const call = parseCommand(words, commands);
    if (call.help) {
      const { command } = call;
      const help = command === undefined ? describeCommands(call.among) : describeCommand(command);
      output.write(`${help}\n`);
      return 0;
    }
    const result = await runCommand(call.command, call.input, surroundings, (warning) =>
      errors.write(asJson ? `${JSON.stringify({ warning })}\n` : `Warning: ${warning}\n`),
    );
    output.write(`${asJson ? JSON.stringify(result.json) : result.text}\n`);
    return 0;
  } catch (error) {
    const { code, lines } = describeFailure(error);
    const [message = '', ...problems] = lines;
    errors.write(
      asJson ? `${JSON.stringify({ error: { message, problems } })}\n` : `${lines.join('\n  ')}\n`,
    );
    return code;
  }
}

async function runCommand(
  command: Command,
  input: Parameters<Command['run']>[0],
  surroundings: CliSurroundings,
  warn: (warning: string) => void,
): Promise<CommandResult> {
  const { identity, warnings, close } = await openIdentityStore(surroundings.environment);
  warnings.forEach(warn);
  const context: CommandContext = {
    identity,
    terminal: createTerminal(surroundings),
    now: Date.now,
    audit: (event) => recordChange(event, identity),
  };
  try {
    return await command.run(input, context);
  } finally {
    await close();
  }
}

/** Fails loudly: the operator must know of a change that left no trace. */
async function recordChange(event: AuditEvent, { audit }: Identity): Promise<void> {
  try {
    await audit.write(event, { actor: 'cli', operator: operatorName() });
  } catch (cause) {
    throw new Error('The change was made, but could not be recorded in the audit trail.', {
      cause,
    });
  }
}

/** Who the machine says is at the keyboard; a container may have no name for it. */
function operatorName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

function describeFailure(error: unknown): { code: 1 | 2; lines: readonly string[] } {
  if (error instanceof UsageError) {
    return { code: 2, lines: [error.message, ...error.problems] };
  }
  if (error instanceof ConfigurationError) {
    const problems = error.problems.map(({ name, message }) => `${name}: ${message}`);
    return { code: 1, lines: ['The configuration is not usable:', ...problems] };
  }
  if (error instanceof RefusedChange) {
    return { code: 1, lines: [error.message] };
  }
  if (error instanceof StoreUnavailable) {
    const reason = error.reason === undefined ? '' : `${error.reason} `;
    const advice = `The store does not answer. ${reason}Check STORE_URL and that the store runs.`;
    return { code: 1, lines: [advice, 'Nothing after the last message was changed.'] };
  }
  return { code: 1, lines: [error instanceof Error ? error.message : 'Failed.'] };
}
