import { organizationSchema, RejectedChangeError } from '@gatehouse/identity';
import { type Command, text } from '../command-line/command.ts';
import { formatTable, formatTime } from '../command-line/format.ts';
import { limitOption, readLimit } from '../command-line/lists.ts';
import { validate } from '../command-line/member-options.ts';
import { yesOption } from '../command-line/terminal.ts';

export const organizationCommands: readonly Command[] = [
  {
    usage: 'organizations add <id>',
    summary: 'Add an organization, which owns clients, users and devices.',
    options: { 'name <name>': 'Display name. Default: the id.', ...yesOption },
    example: 'acme --name "Acme Inc."',
    async run({ positionals: { id = '' }, options }, { identity, audit, confirm }) {
      const organization = validate(organizationSchema, { id, name: text(options.name) ?? id });
      if ((await identity.organizations.find(id)) !== undefined) {
        throw new RejectedChangeError(`The organization ${id} already exists.`);
      }
      const removedAt = await identity.organizations.removedAt(id);
      if (removedAt !== undefined) {
        await confirm(
          `An organization ${id} was removed at ${formatTime(removedAt)}. The new one gets its devices, unless they were deleted. Continue?`,
        );
      }
      await identity.organizations.save(organization);
      await audit({ event: 'organization_added', organizationId: id });
      return { json: { organization }, text: `Added the organization ${id}.` };
    },
  },
  {
    usage: 'organizations list',
    summary: 'List all organizations.',
    options: limitOption,
    example: '--limit 10',
    async run(input, { identity }) {
      const limit = readLimit(input, Number.POSITIVE_INFINITY);
      const organizations = (await identity.organizations.list()).slice(0, limit);
      const rows = organizations.map(({ id, name }) => [id, name]);
      return { json: { organizations }, text: formatTable([['ID', 'NAME'], ...rows]) };
    },
  },
];
