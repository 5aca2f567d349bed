/**
 * The commands for operators: `npm run gatehouse -- <group> <verb> …`
 *
 *   arguments ─▶ command-line/ ─▶ open-identity-store ─▶ commands/ ─▶ text or JSON, exit code
 *
 * The commands change the store, and read the same environment as the servers. No server has to
 * run; running servers apply a change within a second. The rules for clients and users are in
 * packages/identity, which the bootstrap file also uses.
 *
 * `doctor` examines the whole installation (doctor/). `sign` and `verify` are for developers, and
 * do not open the store (signing/).
 */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { ConfigurationError, type Environment } from '@gatehouse/configuration';
import { type AuditEvent, type Identity, RejectedChangeError } from '@gatehouse/identity';
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
import { createTerminal } from './command-line/terminal.ts';
import { auditCommands } from './commands/audit.ts';
import { clientCommands } from './commands/clients.ts';
import { doctorCommand } from './commands/doctor.ts';
import { organizationCommands } from './commands/organizations.ts';
import { requestCommands } from './commands/requests.ts';
import { revokeCommands } from './commands/revoke.ts';
import { secureKeyCommands } from './commands/secure-keys.ts';
import { signCommand } from './commands/sign.ts';
import { userCommands } from './commands/users.ts';
import { verifyCommand } from './commands/verify.ts';
import { openIdentityStore } from './open-identity-store.ts';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

export const commands: readonly Command[] = [
  ...organizationCommands,
  ...clientCommands,
  ...secureKeyCommands,
  ...userCommands,
  ...revokeCommands,
  ...auditCommands,
  ...requestCommands,
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
  if (args.length === 1 && args[0] === '--version') {
    output.write(`gatehouse ${manifest.version}\n`);
    return 0;
  }
  try {
    const call = parseCommand(args, commands);
    if (call.help) {
      const { command } = call;
      const help = command === undefined ? describeCommands(call.among) : describeCommand(command);
      output.write(`${help}\n`);
      return 0;
    }
    const result = await runCommand(call.command, call.input, streams, (warning) =>
      errors.write(asJson ? `${JSON.stringify({ warning })}\n` : `Warning: ${warning}\n`),
    );
    output.write(`${asJson ? JSON.stringify(result.json) : result.text}\n`);
    return result.isFailure === true ? 1 : 0;
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
): Promise<CommandResult> {
  const context: OfflineContext = {
    environment: streams.environment,
    terminal: createTerminal(streams),
    now: Date.now,
    readBytes: createByteReader(streams),
  };
  if ('runOffline' in command) {
    return command.runOffline(input, context);
  }
  const { identity, warnings, close } = await openIdentityStore(streams.environment);
  warnings.forEach(warn);
  try {
    return await command.run(input, {
      ...context,
      identity,
      audit: (event) => recordChange(event, identity),
    });
  } finally {
    await close();
  }
}

/** A change without an audit entry is an error, because the operator has to know about it. */
async function recordChange(event: AuditEvent, { audit }: Identity): Promise<void> {
  try {
    await audit.write(event, { actor: 'cli', operator: operatorName() });
  } catch (cause) {
    throw new Error('The change was made, but the audit trail could not record it.', {
      cause,
    });
  }
}

/**
 * The name of the account that runs the command. Undefined in a container that has no name for it.
 */
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
