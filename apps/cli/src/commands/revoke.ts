import { RejectedChangeError } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';
import { assertConfirmed, yesOption } from './assert-confirmed.ts';
import { describeClient, findClient } from './clients.ts';
import { findUser } from './find-user.ts';

const nextSecond = 'This also revokes tokens that are issued within the next second.';

const token: Command = {
  name: 'revoke token',
  summary: 'Revoke a token or code, and everything issued with it.',
  options: yesOption,
  notes: ['Enter the value at the prompt or on standard input.'],
  async run(input, context) {
    const { identity, terminal, audit } = context;
    const value = await terminal.readSecret('Token');
    await assertConfirmed(
      input,
      context,
      'This revokes the token and everything issued with it. Continue?',
    );
    const revoked = await identity.revocations.token(value);
    if (revoked === undefined) {
      throw new RejectedChangeError(
        'Unknown token. It has expired, is already revoked, or belongs to another installation.',
      );
    }
    await audit({ event: 'token_revoked', ...revoked });
    return { json: { revoked }, text: `Revoked the ${revoked.kind} of ${revoked.clientId}.` };
  },
};

const client: Command = {
  name: 'revoke client',
  summary: 'Revoke everything issued to a client so far. The client stays enabled.',
  positionals: ['clientId'],
  options: yesOption,
  notes: [nextSecond],
  async run(input, context) {
    const { identity, audit } = context;
    const { clientId } = await findClient(input.positionals.clientId ?? '', identity);
    await assertConfirmed(
      input,
      context,
      `This revokes everything issued to ${clientId}. Continue?`,
    );
    const revoked = await identity.revocations.client(clientId);
    await audit({ event: 'client_changed', clientId, change: 'revoked' });
    await identity.revocations.deleteTokens(clientId);
    return {
      json: { client: describeClient(revoked, identity) },
      text: `Revoked everything issued to the client ${clientId} so far.`,
    };
  },
};

const user: Command = {
  name: 'revoke user',
  summary: 'Revoke every session and token of a user. The same as gatehouse users sign-out.',
  positionals: ['username'],
  options: yesOption,
  notes: [nextSecond],
  async run(input, context) {
    const { identity, audit } = context;
    const { userId, username } = await findUser(input.positionals.username ?? '', identity);
    await assertConfirmed(input, context, `This signs ${username} out everywhere. Continue?`);
    const { notBefore } = await identity.revocations.user(userId);
    await audit({ event: 'user_changed', userId, change: 'revoked' });
    return {
      json: { user: { userId, notBefore } },
      text: `Revoked everything issued to ${username} so far.`,
    };
  },
};

const all: Command = {
  name: 'revoke all',
  summary: 'Revoke everything issued so far: sessions, tokens, codes and consents.',
  options: yesOption,
  notes: ['Run this after you restore a backup of the store.', nextSecond],
  async run(input, context) {
    const { identity, audit } = context;
    await assertConfirmed(input, context, 'All users will have to sign in again. Continue?');
    await identity.revocations.everything();
    await audit({ event: 'everything_revoked' });
    return { json: { revoked: 'everything' }, text: 'Revoked everything issued so far.' };
  },
};

export const revokeCommands: readonly Command[] = [token, client, user, all];
