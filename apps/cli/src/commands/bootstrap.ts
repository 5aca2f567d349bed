import { applyBootstrap, loadBootstrap } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';

export const bootstrapCommand: Command = {
  usage: 'bootstrap apply <file>',
  summary: 'Add and change the organizations, clients and users of a bootstrap file.',
  notes: ['Changes nothing if the file is invalid. A second run has no further effect.'],
  example: 'bootstrap.json',
  async run({ positionals: { file = '' } }, { identity, audit, terminal }) {
    const definition = loadBootstrap(terminal.pathOf(file));
    await applyBootstrap(definition, identity, audit);
    const { organizations, clients, users } = definition;
    const applied = {
      organizations: organizations.length,
      clients: clients.length,
      users: users.length,
    };
    await audit({ event: 'bootstrap_applied', ...applied });
    return {
      json: { applied },
      text: `Applied ${applied.organizations} organizations, ${applied.clients} clients and ${applied.users} users.`,
    };
  },
};
