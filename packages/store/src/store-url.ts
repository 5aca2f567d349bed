type StoreLocation = ReturnType<typeof parseStoreUrl>;

export type RedisLocation = Exclude<StoreLocation, { readonly engine: 'sqlite' }>;

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;

/**
 * Reads `sqlite:path`, `redis[s]://[user:password@]host[:port][/database]`,
 * `redis[s]+sentinel://[…@]host,host/master-name` or `redis[s]+cluster://[…@]host,host`. The
 * credentials are those of the Redis servers. With `rediss`, all connections use TLS, also those to
 * Sentinels. Query parameters are rejected: they could disable settings that the store needs.
 *
 * @throws TypeError that describes the problem without the URL, which may contain a password
 */
export function parseStoreUrl(url: string) {
  const [, scheme = '', rest = ''] = /^([a-z][a-z+]*):(.*)$/s.exec(url) ?? [];
  if (scheme === 'sqlite') {
    return { engine: 'sqlite', path: parseFilePath(rest) } as const;
  }
  const [, secure, topology] = /^redis(s?)(?:\+(sentinel|cluster))?$/.exec(scheme) ?? [];
  if (secure === undefined) {
    throw new TypeError(
      'The store URL must begin with sqlite:, redis://, redis+sentinel:// or redis+cluster://, ' +
        'or with rediss for TLS.',
    );
  }
  const [, userInfo = '', hosts, path = ''] =
    /^\/\/(?:([^?#\s]*)@)?([^/?#\s]*)\/?([^?#\s]*)$/.exec(rest) ?? [];
  if (hosts === undefined) {
    throw new TypeError(
      'A Redis store URL is scheme://[user:password@]host[:port], without query or blanks ' +
        '(percent-encode such characters in a password).',
    );
  }
  /** Options of a connection to a Redis server. */
  const connection = { ...parseCredentials(userInfo), ...(secure === 's' && { tls: {} }) };
  if (topology === 'sentinel') {
    if (!/^[A-Za-z0-9._-]+$/.test(path)) {
      throw new TypeError('A redis+sentinel:// store URL ends with the name of the master.');
    }
    const endpoints = parseEndpoints(hosts, SENTINEL_PORT);
    return { engine: 'redis-sentinel', endpoints, masterName: path, connection } as const;
  }
  const endpoints = parseEndpoints(hosts, REDIS_PORT);
  if (topology === 'cluster') {
    if (path !== '') {
      throw new TypeError('A redis+cluster:// store URL has no path: a cluster has one database.');
    }
    return { engine: 'redis-cluster', endpoints, connection } as const;
  }
  const [endpoint, ...others] = endpoints;
  if (endpoint === undefined || others.length > 0) {
    throw new TypeError('A redis:// store URL names one host.');
  }
  if (!/^\d{0,4}$/.test(path)) {
    throw new TypeError('The path of a redis:// store URL is a database number.');
  }
  return { engine: 'redis', endpoint, database: Number(path), connection } as const;
}

function parseFilePath(path: string): string {
  if (path === '' || path === ':memory:') {
    throw new TypeError('A sqlite: store URL needs a file path: processes share the file.');
  }
  if (/^\/\/(?!\/)/.test(path)) {
    throw new TypeError('Write sqlite:relative/path or sqlite:/absolute/path, without "//".');
  }
  return path;
}

function parseCredentials(userInfo: string) {
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/.exec(userInfo) ?? [];
  try {
    return {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    };
  } catch {
    throw new TypeError('The credentials of the store URL are not percent-encoded correctly.');
  }
}

function parseEndpoints(hosts: string, defaultPort: number) {
  return hosts.split(',').map((text) => {
    const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
    const host = match?.[1] ?? match?.[2];
    const port = Number(match?.[3] ?? defaultPort);
    if (host === undefined || port < 1 || port > 65_535) {
      throw new TypeError('A host of the store URL is not host, host:port or [IPv6]:port.');
    }
    return { host, port };
  });
}
