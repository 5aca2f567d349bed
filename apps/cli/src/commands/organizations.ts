import { organizationSchema, RefusedChange } from '@gatehouse/identity';
import { type Command, text } from '../command.ts';
import { formatTable } from '../table.ts';
import { validate } from '../validate.ts';

export const organizationCommands: readonly Command[] = [
  {
    name: 'organizations add',
    summary: 'Add an organisation: it owns clients, users and devices.',
    positionals: ['id'],
    options: { name: { type: 'string', description: 'What people call it. The id by default.' } },
    async run({ positionals: { id = '' }, options }, { identity, audit }) {
      const organization = validate(organizationSchema, { id, name: text(options.name) ?? id });
      if ((await identity.organizations.find(id)) !== undefined) {
        throw new RefusedChange(`The organisation ${id} exists already.`);
      }
      await identity.organizations.save(organization);
      await audit({ event: 'organization_added', organizationId: id });
      return { json: { organization }, text: `Added the organisation ${id}.` };
    },
  },
  {
    name: 'organizations list',
    summary: 'List all organisations.',
    async run(_input, { identity }) {
      const organizations = await identity.organizations.list();
      const rows = organizations.map(({ id, name }) => [id, name]);
      return { json: { organizations }, text: formatTable([['ID', 'NAME'], ...rows]) };
    },
  },
];
