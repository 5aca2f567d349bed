import { applyBootstrap, loadBootstrap } from '@gatehouse/identity';
import { callerPath } from '../command-line/caller-path.ts';
import type { Command } from '../command-line/command.ts';

export const bootstrapCommands: readonly Command[] = [
  {
    name: 'bootstrap apply',
    summary: 'Add and change the organizations, clients and users of a bootstrap file.',
    positionals: ['file'],
    notes: ['Changes nothing if the file is invalid. A second run has no further effect.'],
    async run({ positionals: { file = '' } }, { identity, audit, environment }) {
      const definition = loadBootstrap(callerPath(file, environment));
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
  },
];
