/**
 * The commands for operators: `gatehouse <group> <verb> …`
 *
 *   arguments ─▶ command-line/ ─▶ open-identity-store ─▶ commands/ ─▶ text or JSON, exit code
 *
 * The commands change the store, and read the same environment as the servers. No server has to
 * run; running servers apply a change within a second. The rules for clients and users are in
 * packages/identity, which the bootstrap file also uses.
 *
 * `doctor` examines the whole installation (doctor/). `reasons`, `sign` and `verify` do not open
 * the store.
 */
import type { Readable, Writable } from 'node:stream';
import { RejectedChangeError } from '@gatehouse/identity';
import { ConfigurationError, type Environment } from '@gatehouse/server/configuration';
import { StoreUnavailableError } from '@gatehouse/store';
import {
  type Command,
  type CommandInput,
  type CommandResult,
  type OfflineContext,
  UsageError,
} from './command-line/command.ts';
import { describeCommand, describeCommands } from './command-line/help.ts';
import { parseCommand } from './command-line/parse-command.ts';
import { createByteReader } from './command-line/read-bytes.ts';
import { release } from './command-line/release.ts';
import { createTerminal } from './command-line/terminal.ts';
import { auditCommands } from './commands/audit.ts';
import { auditExportCommands } from './commands/audit-export.ts';
import { backupCommands } from './commands/backup.ts';
import { bootstrapCommands } from './commands/bootstrap.ts';
import { clientCommands } from './commands/clients.ts';
import { doctorCommand } from './commands/doctor.ts';
import { masterKeyCommands } from './commands/master-key.ts';
import { organizationCommands } from './commands/organizations.ts';
import { reasonsCommand } from './commands/reasons.ts';
import { requestCommands } from './commands/requests.ts';
import { revokeCommands } from './commands/revoke.ts';
import { secureKeyCommands } from './commands/secure-keys.ts';
import { signCommand } from './commands/sign.ts';
import { userCommands } from './commands/users.ts';
import { verifyCommand } from './commands/verify.ts';
import { openIdentityStore } from './open-identity-store.ts';
import { recordChange } from './record-change.ts';

export const commands: readonly Command[] = [
  ...bootstrapCommands,
  ...organizationCommands,
  ...clientCommands,
  ...secureKeyCommands,
  ...userCommands,
  ...revokeCommands,
  ...masterKeyCommands,
  ...backupCommands,
  ...auditCommands,
  ...auditExportCommands,
  ...requestCommands,
  reasonsCommand,
  doctorCommand,
  signCommand,
  verifyCommand,
];

export interface CliStreams {
  readonly environment: Environment;
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
  readonly errors: Writable;
}

/** @returns the exit code: 0 success, 1 the command failed, 2 invalid usage */
export async function runCli(args: readonly string[], streams: CliStreams): Promise<0 | 1 | 2> {
  const { output, errors } = streams;
  const asJson = args.includes('--json');
  if (args.length === 1 && ['--version', 'version'].includes(args[0] ?? '')) {
    output.write(`gatehouse ${release}\n`);
    return 0;
  }
  try {
    const [first, ...named] = args;
    const call = parseCommand(first === 'help' ? [...named, '--help'] : args, commands);
    if (call.help) {
      const { command } = call;
      const help = command === undefined ? describeCommands(call.among) : describeCommand(command);
      output.write(`${help}\n`);
      return 0;
    }
    const result = await runCommand(call.command, call.input, streams, (warning) =>
      errors.write(asJson ? `${JSON.stringify({ warning })}\n` : `Warning: ${warning}\n`),
    );
    if (result !== undefined) {
      output.write(`${asJson ? JSON.stringify(result.json) : result.text}\n`);
    }
    return result?.isFailure === true ? 1 : 0;
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
  input: CommandInput,
  streams: CliStreams,
  warn: (warning: string) => void,
): Promise<CommandResult | undefined> {
  const context: OfflineContext = {
    environment: streams.environment,
    terminal: createTerminal(streams),
    now: Date.now,
    readBytes: createByteReader(streams),
    warn,
  };
  if ('runOffline' in command) {
    return command.runOffline(input, context);
  }
  const { identity, settings, warnings, close } = await openIdentityStore(streams.environment);
  warnings.forEach(warn);
  try {
    return await command.run(input, {
      ...context,
      identity,
      settings,
      audit: (event) => recordChange(event, identity, streams.environment),
    });
  } finally {
    await close();
  }
}

function describeFailure(error: unknown): { code: 1 | 2; lines: readonly string[] } {
  if (error instanceof UsageError) {
    return { code: 2, lines: [error.message, ...error.problems] };
  }
  if (error instanceof ConfigurationError) {
    const problems = error.problems.map(({ name, message }) => `${name}: ${message}`);
    return { code: 1, lines: ['Invalid configuration:', ...problems] };
  }
  if (error instanceof RejectedChangeError) {
    return { code: 1, lines: [error.message] };
  }
  if (error instanceof StoreUnavailableError) {
    const reason = error.reason === undefined ? '' : `${error.reason} `;
    const advice = `The store is unavailable. ${reason}Check that STORE_URL is correct and that the store runs.`;
    return {
      code: 1,
      lines: [
        advice,
        'The command stopped at this point. Changes that it already reported are saved.',
      ],
    };
  }
  return { code: 1, lines: [error instanceof Error ? error.message : 'The command failed.'] };
}
