/** Organizations, clients and settings as a folder of files, which a team keeps in version control. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatBootstrapFolder, readBootstrapFolder } from '@gatehouse/identity';
import type { Applied, PlannedChange } from '@gatehouse/operators';
import { type Command, text, UsageError } from '../command-line/command.ts';
import { printableName } from '../command-line/format.ts';
import { withFileErrors, yesOption } from '../command-line/terminal.ts';
import { apiOptions } from './open-management-api.ts';
import { few, warnOfBootstrap } from './remove.ts';

const signs = { add: '+', change: '~', remove: '-' } as const;

export const applyCommand: Command = {
  usage: 'apply',
  summary:
    'Add and change the organizations, clients and settings that the files of a folder declare.',
  options: {
    'f, --file <directory>': 'The folder. All files in it that end with .json are read.',
    'dry-run': 'Show what would change, and change nothing. Exit code 3: there is a difference.',
    prune: 'Also remove organizations and clients that no file declares, and entries of settings.',
    ...{ ...apiOptions, ...yesOption },
  },
  notes: [
    'Each file is a bootstrap file without secure keys and users. Create them with gatehouse export.',
    'A new client gets a random secure key, which is printed once. Other clients keep their keys.',
    'A second run changes nothing. It asks before a change that revokes or removes something.',
  ],
  example: '-f gatehouse --dry-run',
  async runDeclarations(input, context) {
    const { operator, terminal, warn, confirm } = context;
    const folder = text(input.options.file);
    if (folder === undefined) {
      throw new UsageError('Name the folder: --file DIRECTORY.');
    }
    const { declarations, warnings } = readBootstrapFolder(terminal.pathOf(folder));
    warnings.forEach(warn);
    const options = { prune: input.options.prune === true };
    const { changes, version } = await context.declarations.plan(declarations, options);
    const diff = describe(changes);
    if (input.options.dryRun === true) {
      return { json: { changes }, text: diff, isDifferent: changes.length > 0 };
    }
    if (changes.length === 0) {
      return { json: { done: [], secureKeys: [], notDone: [] }, text: diff };
    }
    const isJson = input.options.json === true;
    if (!isJson) {
      terminal.write(diff);
    }
    if (changes.some(({ action }) => action === 'remove')) {
      warnOfBootstrap(context);
    }
    const effects = changes
      .filter((change) => change.effects.length > 0)
      .map((change) => `${change.action} ${nameOf(change)} (${change.effects.join(', ')})`);
    if (effects.length > 0) {
      await confirm(`This will ${few(effects)}. Continue?`);
    }
    const condition = { ifVersion: version };
    const applied = await context.declarations.apply(operator, declarations, options, condition);
    const { failure, ...result } = applied;
    const report = { json: result, text: describeApplied(applied) };
    if (failure !== undefined) {
      // New secure keys must reach the operator.
      terminal.write(isJson ? JSON.stringify(report.json) : report.text);
      throw failure;
    }
    return report;
  },
};

const nameOf = ({ kind, id }: Pick<PlannedChange, 'kind' | 'id'>) =>
  id === undefined ? `the ${kind}` : `${kind} ${id}`;

/** What is removed is first. */
function describe(changes: readonly PlannedChange[]): string {
  const [removed, others] = [true, false].map((isRemoved) =>
    changes.filter(({ action }) => (action === 'remove') === isRemoved),
  );
  const lines = [...(removed ?? []), ...(others ?? [])].flatMap((change) => [
    `${signs[change.action]} ${nameOf(change)}${change.effects.map((each) => `, ${each}`).join('')}`,
    ...change.members.map(describeMember),
  ]);
  const counts = Object.keys(signs).map(
    (name) => `${name} ${changes.filter(({ action }) => action === name).length}`,
  );
  return changes.length === 0
    ? 'There is nothing to change.'
    : [...lines, `To ${counts.join(', ')}.`].join('\n');
}

function describeMember({ member, ...values }: PlannedChange['members'][number]): string {
  const [from, to] = [values.from, values.to].map((value) =>
    value === undefined ? 'none' : printableName(JSON.stringify(value)),
  );
  const isSecret = values.from === undefined && values.to === undefined;
  return `    ${member}: ${isSecret ? 'changed' : `${from} → ${to}`}`;
}

function describeApplied({ done, secureKeys, notDone }: Applied): string {
  const names = (changes: readonly PlannedChange[]) =>
    changes.map((change) => `${change.action} ${nameOf(change)}`).join(', ') || 'nothing';
  return [
    `Applied ${done.length} ${done.length === 1 ? 'change' : 'changes'}.`,
    ...(notDone.length === 0 ? [] : [`Done: ${names(done)}.`, `Not done: ${names(notDone)}.`]),
    ...secureKeys.map((each) => `Secure key of ${each.clientId} (shown once): ${each.secureKey}`),
  ].join('\n');
}

export const exportCommand: Command = {
  usage: 'export <directory>',
  summary:
    'Write a file for each organization and client, and one for the settings, without secrets.',
  options: { ...apiOptions, ...yesOption },
  notes: [
    'gatehouse apply reads these files. They contain neither users nor clients that registered',
    'themselves. In the folders organizations, clients and images, it asks before it deletes files',
    'of objects that no longer exist.',
  ],
  example: 'gatehouse',
  async runDeclarations({ positionals }, { declarations, terminal, confirm }) {
    const named = positionals.directory ?? '';
    const folder = terminal.pathOf(named);
    const files = formatBootstrapFolder(await declarations.export());
    const stale = ['organizations', 'clients', 'images'].flatMap((name) =>
      existsSync(join(folder, name))
        ? readdirSync(join(folder, name))
            .map((file) => `${name}/${file}`)
            .filter((file) => /\.(json|svg|png)$/.test(file) && !files.has(file))
        : [],
    );
    if (stale.length > 0) {
      await confirm(`This deletes ${few(stale)} in ${named}. Continue?`);
    }
    await withFileErrors(named, write(folder, files, stale));
    return {
      json: { folder, files: [...files.keys()], deleted: stale },
      text: `Wrote ${files.size} files to ${folder}, and deleted ${stale.length}.`,
    };
  },
};

async function write(
  folder: string,
  files: ReturnType<typeof formatBootstrapFolder>,
  stale: readonly string[],
): Promise<void> {
  // First, because the name of a new file can differ only in its case.
  for (const file of stale) {
    rmSync(join(folder, file));
  }
  for (const [file, content] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), content);
  }
}
