/** The audit trail: who did what, with the current names and the values of changes. */
import { createHash } from 'node:crypto';
import {
  type AuditEntry,
  auditEvents,
  auditSeverities,
  type Identity,
  lastTimeOf,
  MAXIMUM_AUDIT_ENTRIES,
} from '@gatehouse/identity';
import { z } from 'zod';
import { type Dependencies, type Page, pageRequest, parseInput, readLogPage } from './operator.ts';

/** Times are ISO 8601 in UTC. */
export const auditFilter = pageRequest.extend({
  event: z.enum(Object.keys(auditEvents) as (keyof typeof auditEvents)[]).optional(),
  clientId: z.string().max(300).optional(),
  /** A username or a user id. */
  user: z.string().max(300).optional(),
  /** Of events about the organization itself, not about its clients and users. */
  orgId: z.string().max(128).optional(),
  requestId: z.string().max(64).optional(),
  severities: z.array(z.enum(auditSeverities)).optional(),
  since: z.iso.datetime().optional(),
  until: z.iso.datetime().optional(),
});
export type AuditQuery = z.input<typeof auditFilter>;

/** An entry with the current names of its client and its user. */
export type NamedEntry = Awaited<ReturnType<typeof withNames>>[number];

export function createAuditActs({ identity }: Dependencies) {
  const { audit } = identity;
  async function filterOf(query: AuditQuery) {
    const { user, orgId: organizationId, ...parsed } = parseInput(auditFilter, query);
    const userId = user === undefined ? undefined : await userIdOf(user, identity);
    return { ...parsed, userId, organizationId };
  }

  return {
    /** Newest first, by the last event of each entry. */
    async list(query: AuditQuery = {}): Promise<Page<NamedEntry>> {
      const { cursor, limit, ...filter } = await filterOf(query);
      const page = await readLogPage(
        { cursor, limit },
        (entry: AuditEntry) => Date.parse(lastTimeOf(entry)),
        (lastUntil, most) => audit.read({ ...filter, lastUntil, limit: most }),
      );
      return { ...page, items: await withNames(page.items, identity) };
    },

    /** The lines of an export with their line breaks, oldest first. It has ids instead of names. */
    async export(query: AuditQuery = {}): Promise<Iterable<string>> {
      const { cursor: _first, limit: _all, ...filter } = await filterOf(query);
      const entries = await audit.read({ ...filter, limit: MAXIMUM_AUDIT_ENTRIES });
      return exportLines(entries.toReversed());
    },
  };
}

/** @param name a username. Any other text is a user id: that of a removed user has no record */
export const userIdOf = async (name: string, { users }: Identity): Promise<string> =>
  (await users.findByUsername(name))?.userId ?? name;

function* exportLines(entries: readonly AuditEntry[]): Generator<string> {
  const chain = createExportChain(null);
  for (const entry of entries) {
    yield `${chain.add(entry)}\n`;
  }
}

/** Names can change, so the audit trail stores ids only. An id without a record has no name. */
export function withNames(
  entries: readonly AuditEntry[],
  { clients, users, auditedChanges }: Identity,
) {
  return Promise.all(
    entries.map(async (entry) => {
      const { clientId, userId } = entry;
      const client = clientId === undefined ? undefined : await clients.find(clientId);
      const user = userId === undefined ? undefined : await users.find(userId);
      const named = { clientName: client?.name, username: user?.username };
      if (entry.event !== 'client_changed' && entry.event !== 'user_changed') {
        return { ...entry, ...named };
      }
      const changes = await auditedChanges.read(entry);
      return { ...entry, ...named, changes, personal: undefined };
    }),
  );
}

/** Hexadecimal SHA-256 of a line without its line break. The first line has no predecessor: `null`. */
export type LineHash = string | null;

export const hashOfLine = (line: string | Buffer): string =>
  createHash('sha256').update(line).digest('hex');

/**
 * The lines of an audit export: JSON that each contain the hash of the line before, so that a
 * missing or changed line shows.
 */
export function createExportChain(last: LineHash) {
  let previous = last;
  return {
    /** The next line. */
    add(entry: AuditEntry): string {
      // The hash is first, and an entry of a later release cannot replace it.
      const line = visible(JSON.stringify(Object.assign({ previous }, entry, { previous })));
      previous = hashOfLine(line);
      return line;
    },
    last: (): LineHash => previous,
  };
}

/** Escapes characters that control a terminal or the direction of text. */
function visible(json: string): string {
  return json.replace(
    /[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
