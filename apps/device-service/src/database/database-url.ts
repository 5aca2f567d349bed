import { readPostgresServers } from './postgres-servers.ts';

export type DatabaseLocation =
  | { readonly engine: 'sqlite'; readonly path: string }
  /** The URL contains a password, so it is never logged. */
  | { readonly engine: 'postgres'; readonly url: string };

const SQLITE_URL = /^sqlite:(?:\/\/(?=\/))?(?<path>[^?#]+)$/;

/**
 * Reads `DATABASE_URL`. It is a connection URI of libpq, also with several hosts, such as
 * `postgres://user:password@host:5432/database`. Or it is `sqlite:` and a relative or absolute
 * path: `sqlite:/var/lib/devices.sqlite` and `sqlite:///var/lib/devices.sqlite` are the same file.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation | { readonly problem: string } {
  return /^postgres/i.test(url) ? parsePostgresUrl(url) : parseSqliteUrl(url);
}

function parsePostgresUrl(url: string): DatabaseLocation | { readonly problem: string } {
  const servers = readPostgresServers(url);
  return 'problem' in servers ? servers : { engine: 'postgres', url };
}

function parseSqliteUrl(url: string): DatabaseLocation | { readonly problem: string } {
  const path = SQLITE_URL.exec(url)?.groups?.path;
  if (path === undefined || path.startsWith('//') || path.endsWith('/')) {
    return { problem: 'must be sqlite:<path of the file> or postgres://…' };
  }
  if (path === ':memory:') {
    return { problem: 'must name a file: a database in memory loses every device' };
  }
  return { engine: 'sqlite', path };
}
