import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditEntry, type AuditFilter, auditEvents, type Identity } from '@gatehouse/identity';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flag,
  type Option,
  text,
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
  since: {
    type: 'string',
    description: 'A time (2026-11-20T10:00Z), or a while ago: 30m, 12h, 7d.',
  },
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
    return { json: { entries }, text: formatTable(entries.map(cells)) };
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
  let newest = known[0]?.at ?? filter.since ?? new Date().toISOString();
  let shown = new Set(known.map(({ id }) => id));
  for (;;) {
    await sleep(FOLLOW_MILLISECONDS);
    const back = new Date(Date.parse(newest) - OVERLAP_MILLISECONDS).toISOString();
    const since = filter.since !== undefined && filter.since > back ? filter.since : back;
    const seen = await audit.read({ ...filter, since, limit: FOLLOWED_ENTRIES });
    for (const entry of seen.toReversed()) {
      if (!shown.has(entry.id)) {
        write(entry);
      }
    }
    newest = seen[0]?.at ?? newest;
    shown = new Set(seen.map(({ id }) => id));
  }
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
    since: readSince(text(options.since), now()),
  };
}

function readSince(since: string | undefined, now: number): string | undefined {
  if (since === undefined) {
    return undefined;
  }
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(since) ?? [];
  const time =
    count === undefined
      ? Date.parse(since)
      : now - Number(count) * unitMilliseconds[unit as keyof typeof unitMilliseconds];
  if (Number.isNaN(time)) {
    throw new UsageError('--since is a time like 2026-11-20T10:00Z, or a while ago like 30m.');
  }
  return new Date(time).toISOString();
}

function cells(entry: AuditEntry): readonly string[] {
  const {
    id: _id,
    at,
    event,
    outcome,
    actor,
    clientId,
    userId,
    address,
    requestId,
    ...details
  } = entry;
  return [
    at,
    event,
    outcome,
    `client=${clientId ?? '-'}`,
    `user=${userId ?? '-'}`,
    `from=${address ?? actor}`,
    Object.entries(details)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(' '),
  ];
}

export const auditCommands: readonly Command[] = [list, tail];
