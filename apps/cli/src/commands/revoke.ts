import { RefusedChange } from '@gatehouse/identity';
import type { Command } from '../command.ts';
import { assertSure, sureOption } from './assert-sure.ts';
import { viewClient } from './clients.ts';
import { findUser } from './users.ts';

const nextSecond = 'What is issued within the next second counts as before.';

const token: Command = {
  name: 'revoke token',
  summary: 'End a token or code, and everything that was issued with it.',
  notes: ['The value is read from standard input, or asked for: shells remember arguments.'],
  async run(_input, { identity, terminal, audit }) {
    const value = await terminal.readSecret('Token');
    const revoked = await identity.revocations.token(value);
    if (revoked === undefined) {
      throw new RefusedChange(
        'No such token: it has expired, was revoked before, or belongs to another installation.',
      );
    }
    await audit({ event: 'token_revoked', ...revoked });
    return { json: { revoked }, text: `Revoked: ${revoked.kind} of ${revoked.clientId}.` };
  },
};

const client: Command = {
  name: 'revoke client',
  summary: 'End everything a client was given so far. The client itself may go on.',
  positionals: ['clientId'],
  notes: [nextSecond],
  async run({ positionals: { clientId = '' } }, { identity, audit }) {
    const revoked = await identity.revocations.client(clientId);
    await audit({ event: 'client_changed', clientId, change: 'revoked' });
    return {
      json: { client: viewClient(revoked, identity) },
      text: `Everything the client ${clientId} was given so far is revoked.`,
    };
  },
};

const user: Command = {
  name: 'revoke user',
  summary: 'End every session and token of a user. The same as users sign-out.',
  positionals: ['username'],
  notes: [nextSecond],
  async run({ positionals: { username = '' } }, { identity, audit }) {
    const { userId } = await findUser(username, identity);
    const { notBefore } = await identity.revocations.user(userId);
    await audit({ event: 'user_changed', userId, change: 'revoked' });
    return {
      json: { user: { userId, notBefore } },
      text: `Everything given to ${username} so far is revoked.`,
    };
  },
};

const all: Command = {
  name: 'revoke all',
  summary: 'End everything that was issued to anybody so far: sessions, tokens, codes, consents.',
  options: sureOption,
  notes: ['Do this after a backup of the store was restored.', nextSecond],
  async run(input, context) {
    const { identity, audit } = context;
    await assertSure(input, context, {
      question: 'Everybody has to sign in anew. Sure?',
      unchanged: 'Nothing was revoked.',
    });
    await identity.revocations.everything();
    await audit({ event: 'everything_revoked' });
    return { json: { revoked: 'everything' }, text: 'Everything issued so far is revoked.' };
  },
};

export const revokeCommands: readonly Command[] = [token, client, user, all];
