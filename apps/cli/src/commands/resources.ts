import type { Command } from '../command-line/command.ts';
import { formatTable } from '../command-line/format.ts';
import { limitOption, readLimit } from '../command-line/lists.ts';

export const resourcesCommand: Command = {
  usage: 'resources list',
  summary: 'List the declared resources with their scopes, and the declared roles.',
  options: limitOption,
  notes: ['`gatehouse bootstrap apply` adds and changes resources.'],
  example: '--json',
  async run(input, { identity }) {
    const limit = readLimit(input, Number.POSITIVE_INFINITY);
    const { definition, roles } = await identity.settings.read();
    const resources = definition.resources.slice(0, limit);
    const rows = resources.flatMap(({ resource, name, scopes }) =>
      Object.entries(scopes).map(([scope, { roles: required }]) => [
        resource,
        name,
        scope,
        required.length === 0 ? 'all users' : required.join(', '),
      ]),
    );
    return {
      json: { resources, roles: [...roles] },
      text: formatTable([['RESOURCE', 'NAME', 'SCOPE', 'ROLES'], ...rows]),
    };
  },
};
