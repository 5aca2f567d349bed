import {
  type AuditEntry,
  type AuditedChange,
  type AuditFilter,
  auditEvents,
  auditSeverities,
  lastTimeOf,
  MAXIMUM_AUDIT_ENTRIES,
} from '@gatehouse/identity';
import {
  auditFilter,
  createExportChain,
  type NamedEntry,
  parseInput,
  withNames,
} from '@gatehouse/operators';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  text,
  UsageError,
} from '../command-line/command.ts';
import { formatTable, printable, printableName } from '../command-line/format.ts';
import { limitOption, readLimit, readPages, readTime, sinceOption } from '../command-line/lists.ts';
import { withFileErrors, yesOption } from '../command-line/terminal.ts';
import { openExportFile, readCompleteExport } from './export-file.ts';
import { followTrail, startOfOverlap, versionOf } from './follow-trail.ts';
import { describeReplay, readRevocations, replayRevocations } from './revocations.ts';

const FOLLOWED_ENTRIES = 20;
/** Entries that are not printed again. */
const KNOWN_ENTRIES = 1000;

const list: Command = {
  usage: 'audit list',
  summary: 'List audit entries, newest first, or print them as they appear.',
  options: {
    'client <id>': 'Entries of this client.',
    'user <name>': 'Entries of this user, by username or id.',
    'event <event>': `Entries with this event: ${Object.keys(auditEvents).join(', ')}.`,
    'severity <severity...>': `Entries with this severity: ${auditSeverities.join(', ')}.`,
    ...sinceOption,
    'until <time>': 'Entries until a time or a duration ago.',
    ...limitOption,
    follow: 'Print the latest entries, then new ones. Stop with Ctrl-C.',
  },
  notes: ['Without --limit, it prints 100 entries. With --follow and --json, one entry a line.'],
  example: '--client backend --severity warning --since 1h',
  async run(input, context) {
    const { identity, operators } = context;
    const { options } = input;
    const {
      user: name,
      cursor: _start,
      limit: _page,
      ...filter
    } = parseInput(auditFilter, {
      event: options.event,
      clientId: options.client,
      user: options.user,
      severities: options.severity,
      since: readTime('since', input),
      until: readTime('until', input),
    });
    if (options.follow === true) {
      const user = name === undefined ? undefined : await identity.users.findByUsername(name);
      return follow({ ...filter, userId: user?.userId ?? name }, input, context);
    }
    const entries = await readPages(input, 100, (page) =>
      operators.audit.list({ ...filter, user: name, ...page }),
    );
    return { json: { entries }, text: auditTable(entries) };
  },
};

async function follow(
  filter: Omit<AuditFilter, 'limit'>,
  input: CommandInput,
  { identity, terminal, warn }: CommandContext,
): Promise<undefined> {
  const print = async (entries: readonly AuditEntry[]) => {
    for (const entry of await withNames(entries, identity)) {
      const cells = auditCells(entry).join('  ').trimEnd();
      terminal.write(input.options.json === true ? JSON.stringify(entry) : cells);
    }
  };
  const found = await identity.audit.read({ ...filter, limit: KNOWN_ENTRIES });
  await print(found.slice(0, readLimit(input, FOLLOWED_ENTRIES)).toReversed());
  for await (const added of followTrail(identity, filter, found, warn)) {
    await print(added);
  }
}

export const hashOption = {
  'hash <hash>': 'A hash of a line, kept elsewhere. Shows that the end was not removed.',
};

const exportEntries: Command = {
  usage: 'audit export',
  summary: 'Write audit entries as NDJSON. Each line contains the hash of the line before.',
  options: {
    ...sinceOption,
    'file <path>': 'Create this file, or continue it after its last entry.',
    follow: 'Wait for new entries. Stop with Ctrl-C.',
  },
  notes: [
    'Prints to standard output without --file. An existing file is verified first.',
    'An entry that counts more events later is written again. Use the last line of each id.',
  ],
  example: '--file audit.ndjson --follow',
  async run(input, { identity, terminal, warn }) {
    const since = readTime('since', input);
    const path = text(input.options.file);
    const file =
      path === undefined
        ? undefined
        : await withFileErrors(path, openExportFile(terminal.pathOf(path)));
    const chain = createExportChain(file?.existing?.lastHash ?? null);
    let written = 0;
    const write = async (entries: readonly AuditEntry[]) => {
      const lines = entries.map((entry) => chain.add(entry));
      for (const line of file === undefined ? lines : []) {
        terminal.write(line);
      }
      await file?.append(lines);
      written += lines.length;
    };
    try {
      const { newest, versions } = file?.existing ?? {};
      const filter = { since: newest === undefined ? since : startOfOverlap(newest) };
      const found = await identity.audit.read({ ...filter, limit: MAXIMUM_AUDIT_ENTRIES });
      await write(found.toReversed().filter((entry) => versions?.has(versionOf(entry)) !== true));
      if (input.options.follow === true) {
        for await (const entries of followTrail(identity, filter, found, warn)) {
          await write(entries);
        }
      }
    } finally {
      await file?.close();
    }
    const lastHash = chain.last();
    return file === undefined
      ? undefined
      : {
          json: { written, lastHash },
          text: `Entries written: ${written}\nHash of the last line: ${lastHash ?? 'none'}`,
        };
  },
};

const verifyExport: Command = {
  usage: 'audit verify <file>',
  summary: 'Check that no line of an audit export was removed, added or changed.',
  options: hashOption,
  example: 'audit.ndjson',
  async runOffline({ positionals: { file = '' }, options }, { terminal }) {
    const path = terminal.pathOf(file);
    const { lines, first, newest, lastHash } = await readCompleteExport(path, text(options.hash));
    return {
      json: { lines, first, newest, lastHash },
      text: [
        `The chain of ${lines} lines is complete.`,
        `Events: ${printable(first ?? 'none')} to ${printable(newest ?? 'none')}`,
        `Hash of the last line: ${lastHash ?? 'none'}`,
        'Nothing protects the last line, except its hash. Keep the hash elsewhere, and compare it with --hash.',
      ].join('\n'),
    };
  },
};

const replay: Command = {
  usage: 'audit replay <file>',
  summary: 'Repeat the revocations of an audit export in a restored store.',
  options: {
    'since <time>': 'The time of the backup. Earlier entries are ignored.',
    ...hashOption,
    ...yesOption,
  },
  notes: [
    'Disables clients and users, and removes keys. Reads /dev/stdin, too.',
    'For a store that was restored with its own tools. gatehouse backup restore --audit does it itself.',
  ],
  example: 'audit.ndjson --since 2026-11-20T10:00Z',
  async run(input, { identity, terminal, audit, confirm, warn }) {
    const since = readTime('since', input);
    if (since === undefined) {
      throw new UsageError('--since is required.');
    }
    const path = terminal.pathOf(input.positionals.file ?? '');
    const found = await readRevocations(path, text(input.options.hash), since, warn);
    await confirm(
      `This repeats all revocations since ${since}, and disables every user whose password was changed since then. Continue?`,
    );
    const replayed = await replayRevocations(found.entries, since, { identity, audit });
    return {
      json: { ...replayed, exportEndsAt: found.newest },
      text: describeReplay(replayed, found).join('\n'),
    };
  },
};

export const auditCommands: readonly Command[] = [list, exportEntries, verifyExport, replay];

export function auditTable(entries: readonly NamedEntry[]): string {
  const heading = 'LAST TIME,SEVERITY,EVENT,COUNT,CLIENT,USER,FROM,DETAILS'.split(',');
  return formatTable([heading, ...entries.map(auditCells)]);
}

function auditCells(entry: NamedEntry): readonly string[] {
  const { id: _id, outcome: _outcome, at, event, severity, actor, address, ...others } = entry;
  const { clientId, clientName, userId, username, requestId, ...rest } = others;
  const { count = 1, lastAt, isSummary, ...known } = rest;
  const details = {
    ...(lastAt === undefined ? {} : { first: at }),
    ...(address === undefined ? {} : { actor }),
    ...known,
    ...('changes' in known ? { changes: describeChanges(known.changes) } : {}),
    ...(isSummary === true ? { summary: 'several clients, users or reasons' } : {}),
    ...(requestId === undefined ? {} : { request: requestId }),
  };
  return [
    lastTimeOf(entry),
    severity,
    event,
    `×${count}`,
    clientId === undefined ? '-' : namedClient(clientId, clientName),
    username === undefined ? (userId ?? '-') : printableName(username),
    address ?? actor,
    Object.entries(details)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(' '),
  ];
}

/** The values of a user who was removed are no longer known. */
function describeChanges(
  changes: readonly AuditedChange[] | number = [],
): string | number | undefined {
  if (typeof changes === 'number') {
    return changes;
  }
  const shown = (value: unknown) => printableName(JSON.stringify(value) ?? 'none');
  const described = changes.map(({ member, from, to }) =>
    from === undefined && to === undefined ? member : `${member} ${shown(from)} → ${shown(to)}`,
  );
  return described.length === 0 ? undefined : described.join(', ');
}

/** A client by id, with its name if that differs. */
function namedClient(clientId: string, name: string | undefined): string {
  return name === undefined || name === clientId
    ? clientId
    : `${clientId} (${printableName(name)})`;
}
