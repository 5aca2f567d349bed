import { RejectedChangeError } from '@gatehouse/identity';
import { type Command, UsageError } from '../command-line/command.ts';
import { yesOption } from '../command-line/terminal.ts';
import { describeClient, findClient } from './clients.ts';
import { describeUser, findUser } from './users.ts';

export const revokeCommand: Command = {
  usage: 'tokens revoke',
  summary: 'Revoke a token and everything issued with it, or everything of a client or user.',
  options: {
    'client <id>': 'Everything issued to a client. It stays enabled.',
    'user <username>': 'Every session and token of a user: sign out.',
    all: 'Everything issued so far: sessions, tokens, codes and consents.',
    ...yesOption,
  },
  notes: [
    'Without an option, enter the token or code at the prompt or on standard input.',
    'With an option, this also revokes tokens that are issued within the next second.',
    'Run it with --all after you restored a backup of the store.',
  ],
  example: '--client backend',
  async run({ options }, { identity, audit, terminal, confirm }) {
    if ([options.client, options.user, options.all].filter(Boolean).length > 1) {
      throw new UsageError('Use only one of --client, --user and --all.');
    }
    const { revocations } = identity;
    if (typeof options.client === 'string') {
      const { clientId } = await findClient(options.client, identity);
      await confirm(`This revokes everything issued to ${clientId}. Continue?`);
      const client = await revocations.client(clientId);
      await audit({ event: 'client_changed', clientId, change: 'revoked' });
      await revocations.deleteTokens(clientId);
      const text = `Revoked everything issued to the client ${clientId} so far.`;
      return { json: { client: describeClient(client, identity) }, text };
    }
    if (typeof options.user === 'string') {
      const { userId, username } = await findUser(options.user, identity);
      await confirm(`This signs ${username} out everywhere. Continue?`);
      const user = describeUser(await revocations.user(userId));
      await audit({ event: 'user_changed', userId, change: 'revoked' });
      return { json: { user }, text: `${username} is signed out everywhere.` };
    }
    if (options.all === true) {
      await confirm('All users will have to sign in again. Continue?');
      await revocations.everything();
      await audit({ event: 'everything_revoked' });
      return { json: { revoked: 'everything' }, text: 'Revoked everything issued so far.' };
    }
    const value = await terminal.readSecret('Token');
    await confirm('This revokes the token and everything issued with it. Continue?');
    const revoked = await revocations.token(value);
    if (revoked === undefined) {
      throw new RejectedChangeError(
        'Unknown token. It has expired, is already revoked, or belongs to another installation.',
      );
    }
    await audit({ event: 'token_revoked', ...revoked });
    const holder = revoked.clientId === undefined ? '' : ` of ${revoked.clientId}`;
    return { json: { revoked }, text: `Revoked the ${revoked.kind}${holder}.` };
  },
};
