import { RejectedChangeError } from '@gatehouse/identity';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandResult,
  flag,
  text,
  UsageError,
} from '../command-line/command.ts';
import { assertConfirmed, yesOption } from '../command-line/terminal.ts';
import { describeClient, findClient } from './clients.ts';
import { describeUser, findUser } from './users.ts';

const revoke: Command = {
  usage: 'tokens revoke',
  summary: 'Revoke a token and everything issued with it, or everything of a client or user.',
  options: {
    client: { value: 'id', description: 'Everything issued to a client. It stays enabled.' },
    user: { value: 'username', description: 'Every session and token of a user: sign out.' },
    all: { description: 'Everything issued so far: sessions, tokens, codes and consents.' },
    ...yesOption,
  },
  notes: [
    'Without an option, enter the token or code at the prompt or on standard input.',
    'With an option, this also revokes tokens that are issued within the next second.',
    'Run it with --all after you restored a backup of the store.',
  ],
  example: '--client backend',
  run(input, context) {
    const { client, user, all } = input.options;
    if ([client, user, all].filter((each) => each !== undefined).length > 1) {
      throw new UsageError('Use only one of --client, --user and --all.');
    }
    if (client !== undefined) {
      return revokeClient(text(client) ?? '', input, context);
    }
    if (user !== undefined) {
      return revokeUser(text(user) ?? '', input, context);
    }
    return flag(all) === true ? revokeAll(input, context) : revokeToken(input, context);
  },
};

async function revokeToken(input: CommandInput, context: CommandContext): Promise<CommandResult> {
  const { identity, terminal, audit } = context;
  const value = await terminal.readSecret('Token');
  const question = 'This revokes the token and everything issued with it. Continue?';
  await assertConfirmed(input, context, question);
  const revoked = await identity.revocations.token(value);
  if (revoked === undefined) {
    throw new RejectedChangeError(
      'Unknown token. It has expired, is already revoked, or belongs to another installation.',
    );
  }
  await audit({ event: 'token_revoked', ...revoked });
  return { json: { revoked }, text: `Revoked the ${revoked.kind} of ${revoked.clientId}.` };
}

async function revokeClient(
  name: string,
  input: CommandInput,
  context: CommandContext,
): Promise<CommandResult> {
  const { identity, audit } = context;
  const { clientId } = await findClient(name, identity);
  const question = `This revokes everything issued to ${clientId}. Continue?`;
  await assertConfirmed(input, context, question);
  const client = await identity.revocations.client(clientId);
  await audit({ event: 'client_changed', clientId, change: 'revoked' });
  await identity.revocations.deleteTokens(clientId);
  return {
    json: { client: describeClient(client, identity) },
    text: `Revoked everything issued to the client ${clientId} so far.`,
  };
}

async function revokeUser(
  name: string,
  input: CommandInput,
  context: CommandContext,
): Promise<CommandResult> {
  const { identity, audit } = context;
  const { userId, username } = await findUser(name, identity);
  await assertConfirmed(input, context, `This signs ${username} out everywhere. Continue?`);
  const user = await identity.revocations.user(userId);
  await audit({ event: 'user_changed', userId, change: 'revoked' });
  return { json: { user: describeUser(user) }, text: `${username} is signed out everywhere.` };
}

async function revokeAll(input: CommandInput, context: CommandContext): Promise<CommandResult> {
  const { identity, audit } = context;
  await assertConfirmed(input, context, 'All users will have to sign in again. Continue?');
  await identity.revocations.everything();
  await audit({ event: 'everything_revoked' });
  return { json: { revoked: 'everything' }, text: 'Revoked everything issued so far.' };
}

export const tokenCommands: readonly Command[] = [revoke];
