export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface RedisCredentials {
  readonly username?: string;
  readonly password?: string;
}

export interface SqliteLocation {
  readonly engine: 'sqlite';
  readonly path: string;
}

export type RedisLocation =
  | (RedisCredentials & {
      readonly engine: 'redis';
      readonly endpoint: Endpoint;
      readonly tls: boolean;
      readonly database: number;
    })
  | (RedisCredentials & {
      readonly engine: 'redis-sentinel';
      readonly endpoints: readonly Endpoint[];
      readonly masterName: string;
      readonly tls: boolean;
    })
  | (RedisCredentials & {
      readonly engine: 'redis-cluster';
      readonly endpoints: readonly Endpoint[];
      readonly tls: boolean;
    });

export type StoreLocation = SqliteLocation | RedisLocation;

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
export function parseStoreUrl(url: string): StoreLocation {
  const scheme = /^([a-z][a-z+]*):/.exec(url)?.[1];
  const rest = url.slice((scheme ?? '').length + 1);
  switch (scheme) {
    case 'sqlite':
      return { engine: 'sqlite', path: parseFilePath(rest) };
    case 'redis':
    case 'rediss':
      return parseSingle(rest, scheme === 'rediss');
    case 'redis+sentinel':
    case 'rediss+sentinel':
      return parseSentinel(rest, scheme === 'rediss+sentinel');
    case 'redis+cluster':
    case 'rediss+cluster':
      return parseCluster(rest, scheme === 'rediss+cluster');
    default:
      throw new TypeError(
        'The store URL must begin with sqlite:, redis://, redis+sentinel:// or redis+cluster://, ' +
          'or with rediss for TLS.',
      );
  }
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

function parseSingle(rest: string, tls: boolean): RedisLocation {
  const { credentials, hosts, path } = splitAuthority(rest);
  const [endpoint, ...others] = parseEndpoints(hosts, REDIS_PORT);
  if (endpoint === undefined || others.length > 0) {
    throw new TypeError('A redis:// store URL names one host.');
  }
  if (!/^\d{0,4}$/.test(path)) {
    throw new TypeError('The path of a redis:// store URL is a database number.');
  }
  return { engine: 'redis', endpoint, tls, database: Number(path), ...credentials };
}

function parseSentinel(rest: string, tls: boolean): RedisLocation {
  const { credentials, hosts, path } = splitAuthority(rest);
  if (!/^[A-Za-z0-9._-]+$/.test(path)) {
    throw new TypeError('A redis+sentinel:// store URL ends with the name of the master.');
  }
  const endpoints = parseEndpoints(hosts, SENTINEL_PORT);
  return { engine: 'redis-sentinel', endpoints, masterName: path, tls, ...credentials };
}

function parseCluster(rest: string, tls: boolean): RedisLocation {
  const { credentials, hosts, path } = splitAuthority(rest);
  if (path !== '') {
    throw new TypeError('A redis+cluster:// store URL has no path: a cluster has one database.');
  }
  const endpoints = parseEndpoints(hosts, REDIS_PORT);
  return { engine: 'redis-cluster', endpoints, tls, ...credentials };
}

function splitAuthority(rest: string) {
  if (!rest.startsWith('//') || /[?#\s]/.test(rest)) {
    throw new TypeError(
      'A Redis store URL is scheme://[user:password@]host[:port], without query or blanks ' +
        '(percent-encode such characters in a password).',
    );
  }
  const at = rest.lastIndexOf('@');
  const [hosts = '', ...segments] = rest.slice(at === -1 ? 2 : at + 1).split('/');
  const credentials = at === -1 ? {} : parseCredentials(rest.slice(2, at));
  return { credentials, hosts, path: segments.join('/') };
}

function parseCredentials(userInfo: string): RedisCredentials {
  const colon = userInfo.indexOf(':');
  try {
    const username = decodeURIComponent(colon === -1 ? userInfo : userInfo.slice(0, colon));
    const password = colon === -1 ? '' : decodeURIComponent(userInfo.slice(colon + 1));
    return { ...(username && { username }), ...(password && { password }) };
  } catch {
    throw new TypeError('The credentials of the store URL are not percent-encoded correctly.');
  }
}

function parseEndpoints(hosts: string, defaultPort: number): readonly Endpoint[] {
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
