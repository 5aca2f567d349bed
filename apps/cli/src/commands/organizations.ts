import { type Command, text } from '../command-line/command.ts';
import { formatTable, formatTime } from '../command-line/format.ts';
import { limitOption, readPages } from '../command-line/lists.ts';
import { yesOption } from '../command-line/terminal.ts';

export const organizationCommands: readonly Command[] = [
  {
    usage: 'organizations add <id>',
    summary: 'Add an organization, which owns clients, users and devices.',
    options: { 'name <name>': 'Display name. Default: the id.', ...yesOption },
    example: 'acme --name "Acme Inc."',
    async run({ positionals: { id = '' }, options }, { operators, operator, confirm }) {
      const wanted = { id, name: text(options.name) ?? id };
      const { removedAt } = await operators.organizations.previewCreation(wanted);
      if (removedAt !== undefined) {
        await confirm(
          `An organization ${id} was removed at ${formatTime(removedAt)}. The new one gets its devices, unless they were deleted. Continue?`,
        );
      }
      const reusesId = removedAt !== undefined;
      await operators.organizations.create(operator, wanted, { reusesId });
      return { json: { organization: wanted }, text: `Added the organization ${id}.` };
    },
  },
  {
    usage: 'organizations list',
    summary: 'List all organizations.',
    options: limitOption,
    example: '--limit 10',
    async run(input, { operators }) {
      const found = await readPages(input, Number.POSITIVE_INFINITY, operators.organizations.list);
      const organizations = found.map(({ id, name }) => ({ id, name }));
      const rows = organizations.map(({ id, name }) => [id, name]);
      return { json: { organizations }, text: formatTable([['ID', 'NAME'], ...rows]) };
    },
  },
];
