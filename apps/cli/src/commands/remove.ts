/** Commands that remove a record for good. Each reports what it takes away before it asks. */
import { RejectedChangeError } from '@gatehouse/identity';
import type { Command, CommandContext } from '../command-line/command.ts';
import { yesOption } from '../command-line/terminal.ts';
import { findClient } from './clients.ts';
import { findUser } from './users.ts';

/** The number of clients that a question names. */
const NAMED = 5;

const notes = [
  'Cannot be undone. To take access away for a while, use --disable of the command change.',
  'If BOOTSTRAP_FILE defines it, the next start of a server adds it again.',
];

const removeUser: Command = {
  usage: 'users remove <username>',
  summary: 'Remove a user, and end every session and token of the user.',
  options: yesOption,
  notes: [...notes, 'The audit trail keeps the id of the user, but no name.'],
  example: 'alice',
  async run(input, context) {
    const { identity, audit, confirm } = context;
    const user = await findUser(input.positionals.username ?? '', identity);
    const { userId, username, orgId } = user;
    const sessions = (await identity.userSessions.sessions(userId)).length;
    const applications = (await identity.userSessions.grants(userId)).length;
    const effect = `organization: ${orgId}, sessions: ${sessions}, applications with access: ${applications}`;
    warnOfBootstrap(context);
    await confirm(
      `This removes the user ${username} (${effect}). The audit trail keeps the id ${userId}. Continue?`,
    );
    await identity.removals.user(user, audit);
    return {
      json: { removed: { userId, username, orgId, sessions, applications } },
      text: `Removed the user ${username}.`,
    };
  },
};

const removeClient: Command = {
  usage: 'clients remove <clientId>',
  summary: 'Remove a client with its keys, and revoke everything issued to it.',
  options: yesOption,
  notes,
  example: 'backend',
  async run(input, context) {
    const { identity, audit, confirm } = context;
    const client = await findClient(input.positionals.clientId ?? '', identity);
    const { clientId, orgId } = client;
    if (client.document !== undefined) {
      throw new RejectedChangeError(
        `A metadata document describes ${clientId}, which would return with its next sign-in. To reject it, run gatehouse clients change ${clientId} --disable`,
      );
    }
    const keys = identity.clients.keyIds(client).length;
    const tokens = await identity.removals.countTokens(clientId);
    const effect = `organization: ${orgId}, keys: ${keys}, tokens and grants: ${tokens}`;
    warnOfBootstrap(context);
    await confirm(
      `This removes the client ${clientId} (${effect}). Its requests fail immediately. Continue?`,
    );
    await identity.removals.client(client, audit);
    return {
      json: { removed: { clientId, orgId, keys, tokens } },
      text: `Removed the client ${clientId}.`,
    };
  },
};

const removeOrganization: Command = {
  usage: 'organizations remove <id>',
  summary: 'Remove an organization with all of its clients and users.',
  options: yesOption,
  notes: [...notes, 'Devices stay in the database of the device service.'],
  example: 'acme',
  async run(input, context) {
    const { identity, audit, confirm } = context;
    const { id = '' } = input.positionals;
    const members = await identity.removals.membersOf(id);
    const count = members.clients.length + members.users.length;
    if (count === 0 && (await identity.organizations.find(id)) === undefined) {
      throw new RejectedChangeError(
        'The organization does not exist. Run gatehouse organizations list.',
      );
    }
    const clients = few(members.clients.map(({ clientId }) => clientId));
    const effect = `clients: ${clients}; users: ${members.users.length}`;
    warnOfBootstrap(context);
    await confirm(
      `This removes the organization ${id} (${effect}). Its devices stay in the database. Continue?`,
    );
    const removed = await identity.removals.organization(id, audit);
    return {
      json: { removed: { organizationId: id, ...removed } },
      text: `Removed the organization ${id}. Clients: ${removed.clients}, users: ${removed.users}.`,
    };
  },
};

function warnOfBootstrap({ environment, warn }: CommandContext): void {
  if (environment.BOOTSTRAP_FILE) {
    warn(
      'The next start of a server adds everything in BOOTSTRAP_FILE again. Remove it there first.',
    );
  }
}

/** `none`, or the first names and the number of the others. */
function few(names: readonly string[]): string {
  const others = names.length - NAMED;
  const shown = names.slice(0, NAMED).join(', ') || 'none';
  return others > 0 ? `${shown} and ${others} more` : shown;
}

export const removeCommands: readonly Command[] = [removeUser, removeClient, removeOrganization];
