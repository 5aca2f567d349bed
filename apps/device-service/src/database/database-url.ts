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
  if (/^postgres/i.test(url)) {
    const servers = readPostgresServers(url);
    return 'problem' in servers ? servers : { engine: 'postgres', url };
  }
  const path = SQLITE_URL.exec(url)?.groups?.path;
  if (path === undefined || path.startsWith('//') || path.endsWith('/')) {
    return { problem: 'must be sqlite:<path of the file> or postgres://…' };
  }
  return path === ':memory:'
    ? { problem: 'must name a file: a database in memory loses every device' }
    : { engine: 'sqlite', path };
}

/** The servers of a connection URI. */
export interface PostgresServers {
  /** One URI per server, each with the user, password, database and parameters. */
  readonly urls: readonly string[];
  /** Skips servers that accept no writes, such as a standby. */
  readonly onlyWritable: boolean;
}

const CONNECTION_URI =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^/?#]*@)?(?<hosts>[^/?#]*)(?<path>\/[^/?#]+)(?<query>\?[^#]*)?$/;
const SYNTAX = 'must be postgres://<user>:<password>@<host>:<port>/<database>';
const SESSIONS: ReadonlySet<string> = new Set(['read-write', 'primary']);

/**
 * Reads `postgres://user:password@host1:5432,host2:5432/database?target_session_attrs=read-write`.
 * The `pg` driver supports one server, so this function splits the list. The service writes, so it
 * always uses the writable server and rejects any other `target_session_attrs`.
 */
export function readPostgresServers(url: string): PostgresServers | { readonly problem: string } {
  const { scheme, user = '', hosts, path, query = '' } = CONNECTION_URI.exec(url)?.groups ?? {};
  const parameters = new URLSearchParams(query);
  const session = parameters.get('target_session_attrs');
  if (session !== null && !SESSIONS.has(session)) {
    return {
      problem: 'must have target_session_attrs=read-write, because the device service writes',
    };
  }
  if (parameters.get('host')?.includes(',')) {
    return { problem: 'must name several hosts before the database, not in ?host=' };
  }
  const urls = (hosts ?? '')
    .split(',')
    .map((host) => `${scheme}${user}${host}${path}${withoutSession(query)}`);
  return urls.every(isComplete)
    ? { urls, onlyWritable: urls.length > 1 || session !== null }
    : { problem: SYNTAX };
}

/** The driver would send the parameter to the server, which does not support it. */
function withoutSession(query: string): string {
  const rest = query
    .slice(1)
    .split('&')
    .filter((parameter) => !parameter.startsWith('target_session_attrs='));
  return rest.join('&') === '' ? '' : `?${rest.join('&')}`;
}

function isComplete(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.hostname !== '' || parsed.searchParams.has('host'));
}
