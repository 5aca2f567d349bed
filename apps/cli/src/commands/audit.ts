import {
  type AuditEntry,
  type AuditFilter,
  auditEvents,
  auditSeverities,
  type Identity,
  lastTimeOf,
} from '@gatehouse/identity';
import { z } from 'zod';
import { followTrail } from '../audit-export/follow-trail.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  text,
  UsageError,
} from '../command-line/command.ts';
import { formatTable, printableName } from '../command-line/format.ts';
import { limitOption, readLimit, readTime, sinceOption } from '../command-line/lists.ts';

/** An entry with the current names of its client and its user. */
export type NamedEntry = Awaited<ReturnType<typeof withNames>>[number];

const FOLLOWED_ENTRIES = 20;
/** Entries that are not printed again. */
const KNOWN_ENTRIES = 1000;

export const auditListCommand: Command = {
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
    const { identity } = context;
    const { options } = input;
    const event = text(options.event);
    if (event !== undefined && !Object.hasOwn(auditEvents, event)) {
      throw new UsageError('Unknown event. The events are:', Object.keys(auditEvents));
    }
    const severities = z.array(z.enum(auditSeverities)).optional().safeParse(options.severity);
    if (!severities.success) {
      throw new UsageError('Unknown severity. The severities are:', auditSeverities);
    }
    const name = text(options.user);
    const user = name === undefined ? undefined : await identity.users.findByUsername(name);
    const filter = {
      event,
      clientId: text(options.client),
      userId: user?.userId ?? name,
      severities: severities.data,
      since: readTime('since', input),
      until: readTime('until', input),
    };
    if (options.follow === true) {
      return follow(filter, input, context);
    }
    const limit = readLimit(input, 100);
    const entries = await withNames(await identity.audit.read({ ...filter, limit }), identity);
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

/** Names can change, so the audit trail stores ids only. An id without a record has no name. */
export function withNames(entries: readonly AuditEntry[], { clients, users }: Identity) {
  return Promise.all(
    entries.map(async (entry) => {
      const { clientId, userId } = entry;
      const client = clientId === undefined ? undefined : await clients.find(clientId);
      const user = userId === undefined ? undefined : await users.find(userId);
      return { ...entry, clientName: client?.name, username: user?.username };
    }),
  );
}

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
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(' '),
  ];
}

/** A client by id, with its name if that differs. */
function namedClient(clientId: string, name: string | undefined): string {
  return name === undefined || name === clientId
    ? clientId
    : `${clientId} (${printableName(name)})`;
}
