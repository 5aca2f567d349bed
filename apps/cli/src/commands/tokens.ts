import { type Command, UsageError } from '../command-line/command.ts';
import { yesOption } from '../command-line/terminal.ts';
import { shownClient } from './clients.ts';
import { shownUser } from './users.ts';

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
  async run({ options }, { operators, operator, terminal, confirm }) {
    if ([options.client, options.user, options.all].filter(Boolean).length > 1) {
      throw new UsageError('Use only one of --client, --user and --all.');
    }
    const { clients, tokens, users } = operators;
    if (typeof options.client === 'string') {
      const target = { clientId: options.client };
      const { tokens: count } = await tokens.previewRevocation(target);
      const { clientId } = target;
      await confirm(
        `This revokes everything issued to ${clientId} (tokens and grants: ${count}). Continue?`,
      );
      await tokens.revoke(operator, target);
      const text = `Revoked everything issued to the client ${clientId} so far.`;
      return { json: { client: shownClient((await clients.read(clientId)).client) }, text };
    }
    if (typeof options.user === 'string') {
      const { userId, username } = await users.find(options.user);
      const { sessions, tokens: count } = await tokens.previewRevocation({ userId });
      const effect = `sessions: ${sessions}, tokens of applications: ${count}`;
      await confirm(`This signs ${username} out everywhere (${effect}). Continue?`);
      await tokens.revoke(operator, { userId });
      const user = shownUser(await users.find(userId));
      return { json: { user }, text: `${username} is signed out everywhere.` };
    }
    if (options.all === true) {
      await confirm('All users will have to sign in again. Continue?');
      await tokens.revoke(operator, { all: true });
      return { json: { revoked: 'everything' }, text: 'Revoked everything issued so far.' };
    }
    const token = await terminal.readSecret('Token');
    const { kind, clientId, userId, tokenId, grantId } = await tokens.find(token);
    await confirm('This revokes the token and everything issued with it. Continue?');
    await tokens.revoke(operator, { token });
    const revoked = { kind, clientId, userId, tokenIds: [tokenId], grantId };
    const holder = clientId === undefined ? '' : ` of ${clientId}`;
    return { json: { revoked }, text: `Revoked the ${kind}${holder}.` };
  },
};
