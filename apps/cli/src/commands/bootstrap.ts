/** Commands for what a bootstrap file declares. */
import { applyBootstrap, bootstrapWarnings, lifetimesOf, loadBootstrap } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';
import { formatTable, rowsOf } from '../command-line/format.ts';
import { limitOption, readLimit } from '../command-line/lists.ts';

const resourcesCommand: Command = {
  usage: 'resources list',
  summary: 'List the declared resources with their scopes, and the other settings in force.',
  options: limitOption,
  notes: ['`gatehouse bootstrap apply` adds and changes them.', 'Lifetimes are in seconds.'],
  example: '--json',
  async run(input, { identity }) {
    const limit = readLimit(input, Number.POSITIVE_INFINITY);
    const { definition, ...inForce } = await identity.settings.read();
    const resources = definition.resources.slice(0, limit);
    const settings = {
      roles: [...inForce.roles],
      userAttributes: inForce.userAttributes,
      lifetimes: lifetimesOf(inForce.lifetimes),
      privateHosts: inForce.privateHosts,
      clientIdMetadata: inForce.clientIdMetadata,
      browserHosts: definition.browserHosts,
      ...(definition.operators && { operators: definition.operators }),
      ...(inForce.upstreams.size > 0 && {
        upstreams: [...inForce.upstreams.values()].map(({ clientSecret: _, ...rest }) => rest),
      }),
    };
    const rows = resources.flatMap(({ resource, name, scopes }) => {
      const listed = Object.entries(scopes).map(([scope, { roles }]) => [
        scope,
        roles.length === 0 ? 'all users' : roles.join(', '),
      ]);
      return (listed.length === 0 ? [['none', '']] : listed).map((row) => [resource, name, ...row]);
    });
    return {
      json: { resources, ...settings },
      text: [
        formatTable([['RESOURCE', 'NAME', 'SCOPE', 'ROLES'], ...rows]),
        formatTable([['SETTING', 'VALUE'], ...rowsOf(settings)]),
      ].join('\n\n'),
    };
  },
};

const bootstrapCommand: Command = {
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

export const declarationCommands: readonly Command[] = [bootstrapCommand, resourcesCommand];
