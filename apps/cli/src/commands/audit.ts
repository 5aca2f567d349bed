import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AuditEntry,
  type AuditFilter,
  type AuditSeverity,
  auditEvents,
  auditSeverities,
  type Identity,
  lastTimeOf,
} from '@gatehouse/identity';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flag,
  type Option,
  text,
  texts,
  UsageError,
} from '../command.ts';
import { formatTable } from '../table.ts';

const FOLLOW_MILLISECONDS = 1000;
const OVERLAP_MILLISECONDS = 5000;
const TAIL_ENTRIES = 20;
/** Enough for whatever happens between two looks. */
const FOLLOWED_ENTRIES = 1000;
const unitMilliseconds = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const filterOptions: Readonly<Record<string, Option>> = {
  client: { type: 'string', description: 'Only of this client.' },
  user: { type: 'string', description: 'Only of this user: name or id.' },
  event: { type: 'string', description: `Only ${Object.keys(auditEvents).join(', ')}.` },
  severity: {
    type: 'string',
    multiple: true,
    description: `Only ${auditSeverities.join(', ')}; may be given more than once.`,
  },
  since: {
    type: 'string',
    description: 'From a time (2026-11-20T10:00Z), or a while ago: 30m, 12h, 7d.',
  },
  until: { type: 'string', description: 'Up to a time, written as for --since.' },
};

const list: Command = {
  name: 'audit list',
  summary: 'List what happened, newest first.',
  options: {
    ...filterOptions,
    limit: { type: 'string', description: 'At most so many entries, 100 by default.' },
  },
  async run(input, context) {
    const limit = text(input.options.limit) ?? '100';
    if (!/^[1-9]\d{0,5}$/.test(limit)) {
      throw new UsageError('--limit is a number from 1 to 999999.');
    }
    const filter = { ...(await readFilter(input, context)), limit: Number(limit) };
    const entries = await context.identity.audit.read(filter);
    return { json: { entries }, text: formatTable([heading, ...entries.map(cells)]) };
  },
};

const tail: Command = {
  name: 'audit tail',
  summary: 'Show the latest entries, oldest first, and go on with what happens. Ctrl-C ends it.',
  options: {
    ...filterOptions,
    follow: { type: 'boolean', description: 'Go on; --no-follow ends after the latest entries.' },
  },
  notes: ['With --json, one entry a line while it goes on.'],
  async run(input, context) {
    const { identity, terminal } = context;
    const filter = await readFilter(input, context);
    const isJson = flag(input.options.json) === true;
    const format = (entry: AuditEntry) =>
      isJson ? JSON.stringify(entry) : cells(entry).join('  ').trimEnd();
    const seen = await identity.audit.read({ ...filter, limit: FOLLOWED_ENTRIES });
    const latest = seen.slice(0, TAIL_ENTRIES).toReversed();
    if (flag(input.options.follow) === false) {
      return { json: { entries: latest }, text: latest.map(format).join('\n') };
    }
    for (const entry of latest) {
      terminal.write(format(entry));
    }
    return follow(filter, seen, identity, (entry) => terminal.write(format(entry)));
  },
};

/** Looks again every second, a little back in time: entries of several processes may arrive out of order. */
async function follow(
  filter: Omit<AuditFilter, 'limit'>,
  known: readonly AuditEntry[],
  { audit }: Identity,
  write: (entry: AuditEntry) => void,
): Promise<never> {
  let newest = lastTime(known) ?? filter.since ?? new Date().toISOString();
  let shown = new Set(known.map(versionOf));
  for (;;) {
    await sleep(FOLLOW_MILLISECONDS);
    const back = new Date(Date.parse(newest) - OVERLAP_MILLISECONDS).toISOString();
    const since = filter.since !== undefined && filter.since > back ? filter.since : back;
    const seen = await audit.read({ ...filter, since, limit: FOLLOWED_ENTRIES });
    for (const entry of seen.toReversed()) {
      if (!shown.has(versionOf(entry))) {
        write(entry);
      }
    }
    newest = lastTime(seen) ?? newest;
    shown = new Set(seen.map(versionOf));
  }
}

/** An entry is shown again when it counts more events. */
const versionOf = ({ id, count = 1 }: AuditEntry) => `${id} ${count}`;

function lastTime([newest]: readonly AuditEntry[]): string | undefined {
  return newest === undefined ? undefined : lastTimeOf(newest);
}

async function readFilter(
  { options }: CommandInput,
  { identity, now }: CommandContext,
): Promise<Omit<AuditFilter, 'limit'>> {
  const event = text(options.event);
  if (event !== undefined && !Object.hasOwn(auditEvents, event)) {
    throw new UsageError('There is no such event. The events are:', Object.keys(auditEvents));
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
    throw new UsageError('There is no such severity. The severities are:', auditSeverities);
  }
  return severities?.filter((severity) => severity !== undefined);
}

function readTime(option: string, given: string | undefined, now: number): string | undefined {
  if (given === undefined) {
    return undefined;
  }
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given) ?? [];
  const time =
    count === undefined
      ? Date.parse(given)
      : now - Number(count) * unitMilliseconds[unit as keyof typeof unitMilliseconds];
  if (Number.isNaN(time)) {
    throw new UsageError(`--${option} is a time like 2026-11-20T10:00Z, or a while ago like 30m.`);
  }
  return new Date(time).toISOString();
}

const heading = ['LAST TIME', 'SEVERITY', 'EVENT', 'COUNT', 'CLIENT', 'USER', 'FROM', 'DETAILS'];

function cells(entry: AuditEntry): readonly string[] {
  const {
    id: _id,
    at,
    event,
    severity,
    outcome: _outcome,
    actor,
    clientId,
    userId,
    address,
    requestId,
    count = 1,
    lastAt,
    isSummary,
    ...rest
  } = entry;
  const details = {
    ...(lastAt === undefined ? {} : { first: at }),
    ...(address === undefined ? {} : { actor }),
    ...rest,
    ...(isSummary === true ? { summary: 'of several clients, users or reasons' } : {}),
    ...(requestId === undefined ? {} : { request: requestId }),
  };
  return [
    lastTimeOf(entry),
    severity,
    event,
    `×${count}`,
    clientId ?? '-',
    userId ?? '-',
    address ?? actor,
    Object.entries(details)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(' '),
  ];
}

export const auditCommands: readonly Command[] = [list, tail];
