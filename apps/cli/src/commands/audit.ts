import {
  type AuditFilter,
  type AuditSeverity,
  auditEvents,
  auditSeverities,
} from '@gatehouse/identity';
import { followTrail } from '../audit-export/follow-trail.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flag,
  type Option,
  text,
  texts,
  UsageError,
} from '../command-line/command.ts';
import { formatTable } from '../command-line/table.ts';
import { type NamedEntry, withNames } from './audit-names.ts';
import { auditCells, auditHeading } from './audit-table.ts';
import { readTime } from './read-time.ts';

const TAIL_ENTRIES = 20;
/** Entries that are not printed again. */
const KNOWN_ENTRIES = 1000;

const filterOptions: Readonly<Record<string, Option>> = {
  client: { type: 'string', description: 'Entries of this client.' },
  user: { type: 'string', description: 'Entries of this user, by username or id.' },
  event: {
    type: 'string',
    description: `Entries with this event: ${Object.keys(auditEvents).join(', ')}.`,
  },
  severity: {
    type: 'string',
    multiple: true,
    description: `Entries with this severity: ${auditSeverities.join(', ')}.`,
  },
  since: {
    type: 'string',
    description: 'Entries since a time (2026-11-20T10:00Z) or a duration ago (30m, 12h, 7d).',
  },
  until: { type: 'string', description: 'Entries until a time or a duration ago.' },
};

const list: Command = {
  name: 'audit list',
  summary: 'List audit entries, newest first.',
  options: {
    ...filterOptions,
    limit: { type: 'string', description: 'Maximum number of entries. Default: 100.' },
  },
  async run(input, context) {
    const limit = text(input.options.limit) ?? '100';
    if (!/^[1-9]\d{0,5}$/.test(limit)) {
      throw new UsageError('--limit must be a number from 1 to 999999.');
    }
    const filter = { ...(await readFilter(input, context)), limit: Number(limit) };
    const entries = await withNames(await context.identity.audit.read(filter), context.identity);
    return { json: { entries }, text: formatTable([auditHeading, ...entries.map(auditCells)]) };
  },
};

const tail: Command = {
  name: 'audit tail',
  summary: 'Show the latest audit entries, then new ones as they appear. Stop with Ctrl-C.',
  options: {
    ...filterOptions,
    follow: {
      type: 'boolean',
      description: 'Wait for new entries. Default; --no-follow turns it off.',
    },
  },
  notes: ['With --json, prints one entry per line.'],
  async run(input, context) {
    const { identity, terminal } = context;
    const filter = await readFilter(input, context);
    const isJson = flag(input.options.json) === true;
    const format = (entry: NamedEntry) =>
      isJson ? JSON.stringify(entry) : auditCells(entry).join('  ').trimEnd();
    const found = await identity.audit.read({ ...filter, limit: KNOWN_ENTRIES });
    const latest = await withNames(found.slice(0, TAIL_ENTRIES).toReversed(), identity);
    if (flag(input.options.follow) === false) {
      return { json: { entries: latest }, text: latest.map(format).join('\n') };
    }
    for (const entry of latest) {
      terminal.write(format(entry));
    }
    for await (const added of followTrail(identity, filter, found, context.warn)) {
      for (const entry of await withNames(added, identity)) {
        terminal.write(format(entry));
      }
    }
    return undefined;
  },
};

async function readFilter(
  { options }: CommandInput,
  { identity, now }: CommandContext,
): Promise<Omit<AuditFilter, 'limit'>> {
  const event = text(options.event);
  if (event !== undefined && !Object.hasOwn(auditEvents, event)) {
    throw new UsageError('Unknown event. The events are:', Object.keys(auditEvents));
  }
  const name = text(options.user);
  const user = name === undefined ? undefined : await identity.users.findByUsername(name);
  return {
    event,
    clientId: text(options.client),
    userId: user?.userId ?? name,
    severities: readSeverities(texts(options.severity)),
    since: readTime('since', text(options.since), now()),
    until: readTime('until', text(options.until), now()),
  };
}

function readSeverities(
  names: readonly string[] | undefined,
): readonly AuditSeverity[] | undefined {
  const severities = names?.map((name) => auditSeverities.find((severity) => severity === name));
  if (severities?.includes(undefined) === true) {
    throw new UsageError('Unknown severity. The severities are:', auditSeverities);
  }
  return severities?.filter((severity) => severity !== undefined);
}

export const auditCommands: readonly Command[] = [list, tail];
