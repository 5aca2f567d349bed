export type DatabaseLocation =
  | { readonly engine: 'sqlite'; readonly path: string }
  | PostgresLocation;

export interface PostgresLocation {
  readonly engine: 'postgres';
  /**
   * One URI per server, each with the user, database and parameters. It contains the password, so it
   * is never logged.
   */
  readonly urls: readonly string[];
  /** Skips servers that accept no writes, such as a standby. */
  readonly onlyWritable: boolean;
}

const SQLITE_URL = /^sqlite:(?:\/\/(?=\/))?(?<path>[^?#]+)$/;

/**
 * Reads `DATABASE_URL`. It is a connection URI of libpq, also with several hosts, such as
 * `postgres://user:password@host:5432/database`. Or it is `sqlite:` and a relative or absolute
 * path: `sqlite:/var/lib/devices.sqlite` and `sqlite:///var/lib/devices.sqlite` are the same file.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation | { readonly problem: string } {
  if (/^postgres/i.test(url)) {
    return parsePostgresUrl(url);
  }
  const path = SQLITE_URL.exec(url)?.groups?.path;
  if (path === undefined || path.startsWith('//') || path.endsWith('/')) {
    return { problem: 'must be sqlite:<path of the file> or postgres://…' };
  }
  return path === ':memory:'
    ? { problem: 'must name a file: a database in memory loses every device' }
    : { engine: 'sqlite', path };
}

const CONNECTION_URI =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^/?#]*@)?(?<hosts>[^/?#]*)(?<path>\/[^/?#]+)(?<query>\?[^#]*)?$/;
const SESSIONS: readonly (string | null)[] = [null, 'read-write', 'primary'];

/**
 * Reads `postgres://user:password@host1:5432,host2:5432/database?target_session_attrs=read-write`.
 * The `pg` driver supports one server, so this function splits the list. The service writes, so it
 * always uses the writable server and rejects any other `target_session_attrs`.
 */
function parsePostgresUrl(url: string): PostgresLocation | { readonly problem: string } {
  const { scheme, user = '', hosts, path, query } = CONNECTION_URI.exec(url)?.groups ?? {};
  const parameters = new URLSearchParams(query);
  const session = parameters.get('target_session_attrs');
  if (!SESSIONS.includes(session)) {
    const rule = 'must have target_session_attrs=read-write, because the device service writes';
    return { problem: rule };
  }
  if (parameters.get('host')?.includes(',')) {
    return { problem: 'must name several hosts before the database, not in ?host=' };
  }
  // The driver would send the parameter to the server, which does not support it.
  parameters.delete('target_session_attrs');
  const rest = parameters.size === 0 ? '' : `?${parameters}`;
  const urls = (hosts ?? '').split(',').map((host) => `${scheme}${user}${host}${path}${rest}`);
  return urls.every(isComplete)
    ? { engine: 'postgres', urls, onlyWritable: urls.length > 1 || session !== null }
    : { problem: 'must be postgres://<user>:<password>@<host>:<port>/<database>' };
}

function isComplete(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.hostname !== '' || parsed.searchParams.has('host'));
}
