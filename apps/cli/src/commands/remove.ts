/** Commands that remove a record for good. Each reports what it takes away before it asks. */
import type { Command, OfflineContext } from '../command-line/command.ts';
import { yesOption } from '../command-line/terminal.ts';

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
    const { operators, operator, confirm } = context;
    const { userId } = await operators.users.find(input.positionals.username ?? '');
    const previewed = await operators.users.previewRemoval(userId);
    const { username, orgId, sessions, applications } = previewed;
    const effect = `organization: ${orgId}, sessions: ${sessions}, applications with access: ${applications}`;
    warnOfBootstrap(context);
    await confirm(
      `This removes the user ${username} (${effect}). The audit trail keeps the id ${userId}. Continue?`,
    );
    const removed = await operators.users.remove(operator, userId);
    return {
      json: { removed },
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
    const { operators, operator, confirm } = context;
    const { clientId = '' } = input.positionals;
    const { orgId, keys, tokens } = await operators.clients.previewRemoval(clientId);
    const effect = `organization: ${orgId}, keys: ${keys}, tokens and grants: ${tokens}`;
    warnOfBootstrap(context);
    await confirm(
      `This removes the client ${clientId} (${effect}). Its requests fail immediately. Continue?`,
    );
    const removed = await operators.clients.remove(operator, clientId);
    return {
      json: { removed },
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
    const { operators, operator, confirm } = context;
    const { id = '' } = input.positionals;
    const { clientIds, users } = await operators.organizations.previewRemoval(id);
    const effect = `clients: ${few(clientIds)}; users: ${users}`;
    warnOfBootstrap(context);
    await confirm(
      `This removes the organization ${id} (${effect}). Its devices stay in the database. Continue?`,
    );
    const removed = await operators.organizations.remove(operator, id);
    return {
      json: { removed },
      text: `Removed the organization ${id}. Clients: ${removed.clients}, users: ${removed.users}.`,
    };
  },
};

export function warnOfBootstrap({ environment, warn }: OfflineContext): void {
  if (environment.BOOTSTRAP_FILE) {
    warn(
      'The next start of a server adds everything in BOOTSTRAP_FILE again. Remove it there first.',
    );
  }
}

/** `none`, or the first names and the number of the others. */
export function few(names: readonly string[]): string {
  const others = names.length - NAMED;
  const shown = names.slice(0, NAMED).join(', ') || 'none';
  return others > 0 ? `${shown} and ${others} more` : shown;
}

export const removeCommands: readonly Command[] = [removeUser, removeClient, removeOrganization];
