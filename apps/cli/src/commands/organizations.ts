import { organizationSchema, RejectedChangeError } from '@gatehouse/identity';
import { type Command, text } from '../command-line/command.ts';
import { formatTable } from '../command-line/table.ts';
import { validate } from '../command-line/validate.ts';

export const organizationCommands: readonly Command[] = [
  {
    name: 'organizations add',
    summary: 'Add an organization, which owns clients, users and devices.',
    positionals: ['id'],
    options: { name: { type: 'string', description: 'Display name. Default: the id.' } },
    async run({ positionals: { id = '' }, options }, { identity, audit }) {
      const organization = validate(organizationSchema, { id, name: text(options.name) ?? id });
      if ((await identity.organizations.find(id)) !== undefined) {
        throw new RejectedChangeError(`The organization ${id} already exists.`);
      }
      await identity.organizations.save(organization);
      await audit({ event: 'organization_added', organizationId: id });
      return { json: { organization }, text: `Added the organization ${id}.` };
    },
  },
  {
    name: 'organizations list',
    summary: 'List all organizations.',
    async run(_input, { identity }) {
      const organizations = await identity.organizations.list();
      const rows = organizations.map(({ id, name }) => [id, name]);
      return { json: { organizations }, text: formatTable([['ID', 'NAME'], ...rows]) };
    },
  },
];
