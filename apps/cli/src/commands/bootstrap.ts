import { applyBootstrap, bootstrapWarnings, loadBootstrap } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';

export const bootstrapCommand: Command = {
  usage: 'bootstrap apply <file>',
  summary: 'Add and change the settings, organizations, clients and users of a bootstrap file.',
  notes: ['Changes nothing if the file is invalid. A second run has no further effect.'],
  example: 'bootstrap.json',
  async run({ positionals: { file = '' } }, { identity, audit, terminal, warn }) {
    const definition = loadBootstrap(terminal.pathOf(file));
    bootstrapWarnings(definition).forEach(warn);
    const settings = await applyBootstrap(definition, identity, audit);
    const { resources, organizations, clients, users } = definition;
    const applied = {
      resources: resources.length,
      organizations: organizations.length,
      clients: clients.length,
      users: users.length,
      settings,
    };
    await audit({ event: 'bootstrap_applied', ...applied });
    return {
      json: { applied },
      text: `Applied ${applied.resources} resources, ${applied.organizations} organizations, ${applied.clients} clients and ${applied.users} users. Changed settings: ${settings.join(', ') || 'none'}.`,
    };
  },
};
