/** The servers that a connection URI names, as libpq reads it. */
export interface PostgresServers {
  /** One URI for each server, with the user, password, database and parameters of the whole. */
  readonly urls: readonly string[];
  /** Whether a server that accepts no writes, such as a standby, is skipped. */
  readonly onlyWritable: boolean;
}

const CONNECTION_URI =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^/?#]*@)?(?<hosts>[^/?#]*)(?<path>\/[^/?#]+)(?<query>\?[^#]*)?$/;
const SYNTAX = 'must be postgres://<user>:<password>@<host>:<port>/<database>';
const SESSIONS: ReadonlySet<string> = new Set(['read-write', 'primary']);

/**
 * Reads `postgres://user:password@host1:5432,host2:5432/database?target_session_attrs=read-write`. The `pg` driver
 * knows one server, so the list is taken apart here. The service writes, so with several servers it always wants
 * the writable one, and it refuses a `target_session_attrs` that asks for anything else.
 */
export function readPostgresServers(url: string): PostgresServers | { readonly problem: string } {
  const { scheme, user = '', hosts, path, query = '' } = CONNECTION_URI.exec(url)?.groups ?? {};
  const parameters = new URLSearchParams(query);
  const session = parameters.get('target_session_attrs');
  if (session !== null && !SESSIONS.has(session)) {
    return { problem: 'must have target_session_attrs=read-write: the device service writes' };
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

/** The driver would send it to the server, which does not know it. */
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
