const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
const SCRIPT_SCHEMES = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:']);
/** The authorization response adds these parameters to the query and would overwrite them. */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'access_token'];

/** Redirect URIs that are allowed, but not for every client. */
const problems = {
  implicit:
    'must be https with a host other than localhost, because the client is a web application with the implicit grant',
  native: 'must not be https on loopback, because the client is a native application: use http',
  scheme: 'only a native application can use a custom scheme',
} as const;

/**
 * Why the authorization server rejects a redirect URI of this client. The schema of clients, the
 * commands and the server use this function, so that all of them name the same reason.
 */
export function redirectUriProblem(
  uri: string,
  client: {
    readonly applicationType: 'web' | 'native';
    readonly grantTypes: readonly string[];
  },
): string | undefined {
  const { protocol = '', hostname = '' } = URL.parse(uri) ?? {};
  if (client.applicationType === 'native') {
    return protocol === 'https:' && LOOPBACK_HOSTS.has(hostname) ? problems.native : undefined;
  }
  if (!isAllowedRedirectUri(uri, 'web') && isAllowedRedirectUri(uri, 'native')) {
    return problems.scheme;
  }
  // A token in a fragment must not cross the network in clear text, nor reach a program on the
  // user's machine that happens to listen (OpenID Connect Dynamic Client Registration §2).
  const isExposed = protocol === 'http:' || hostname === 'localhost';
  return client.grantTypes.includes('implicit') && isExposed ? problems.implicit : undefined;
}

/** What to ignore in a URI so that it equals a registered one. Earlier ones are closer. */
const differences = {
  normalForm: ({ href }: URL) => href,
  trailingSlash: ({ href }: URL) => href.replace(/\/(?=$|\?)/, ''),
  letterCase: ({ href }: URL) => href.toLowerCase(),
  query: ({ protocol, host, pathname }: URL) => `${protocol} ${host} ${pathname}`,
  scheme: ({ host, pathname, search }: URL) => `${host} ${pathname} ${search}`,
  port: ({ protocol, hostname, pathname, search }: URL) =>
    `${protocol} ${hostname} ${pathname} ${search}`,
  path: ({ protocol, host }: URL) => `${protocol} ${host}`,
} as const satisfies Readonly<Record<string, (url: URL) => string>>;

type Difference = keyof typeof differences;

/**
 * Whether an authorization request with this redirect URI passes, and otherwise why not. Redirect
 * URIs are compared exactly (RFC 9700 §2.1), except the port of a native application on loopback
 * (RFC 8252 §7.3).
 */
export function compareRedirectUri(
  uri: string,
  client: Readonly<{ applicationType: 'web' | 'native'; redirectUris: readonly string[] }>,
) {
  const { redirectUris, applicationType } = client;
  if (redirectUris.includes(uri)) {
    return { accepted: 'exact', registered: uri } as const;
  }
  const url = URL.parse(uri);
  if (url === null) {
    return { accepted: undefined, difference: 'malformed', registered: undefined } as const;
  }
  const isLoopback = url.protocol === 'http:' && LOOPBACK_HOSTS.has(url.hostname);
  const known = redirectUris.flatMap((registered) => {
    const parsed = URL.parse(registered);
    return parsed === null ? [] : [{ registered, parsed }];
  });
  for (const difference of Object.keys(differences) as Difference[]) {
    const partsOf = differences[difference];
    const found = known.find(({ parsed }) => partsOf(parsed) === partsOf(url));
    if (found !== undefined) {
      const { registered } = found;
      if (difference === 'port' && applicationType === 'native' && isLoopback) {
        return { accepted: 'loopbackPort', registered } as const;
      }
      // A parser adds the slash after a host.
      const isSlash = uri === `${registered}/` || registered === `${uri}/`;
      const closest = isSlash ? 'trailingSlash' : difference;
      return { accepted: undefined, difference: closest, registered } as const;
    }
  }
  return { accepted: undefined, difference: 'unknown', registered: undefined } as const;
}

/**
 * Allows https, http on loopback, and the private-use scheme of a native application. Redirect URIs
 * are compared exactly, so wildcards and fragments are not allowed. RFC 9700 §2.1, RFC 8252 §7.
 */
export function isAllowedRedirectUri(uri: string, applicationType: 'web' | 'native'): boolean {
  const url = URL.parse(uri);
  // Parsers normalize `https:\\host`, `/a/../b` and `HOST:443`. An exact comparison needs the
  // normal form (RFC 3986 §6.2).
  const isNormal = url !== null && (url.href === uri || url.href === `${uri}/`);
  const isUnsafe =
    !isNormal ||
    uri.includes('#') ||
    uri.includes('*') ||
    RESPONSE_PARAMETERS.some((name) => url.searchParams.has(name)) ||
    url.username !== '' ||
    url.password !== '' ||
    SCRIPT_SCHEMES.has(url.protocol);
  if (isUnsafe || url.protocol === 'https:') {
    return !isUnsafe;
  }
  if (url.protocol === 'http:') {
    return LOOPBACK_HOSTS.has(url.hostname);
  }
  // RFC 8252 §7.1: a private-use scheme is a reversed domain name, so it contains a dot.
  return applicationType === 'native' && url.protocol.includes('.');
}
