const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
const SCRIPT_SCHEMES = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:']);
/** The answer is written into the query with these names: a registered one would be overwritten. */
const ANSWER_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'access_token'];

/**
 * What may be registered: https, http on loopback, or a native application's own scheme; an absolute
 * address compared letter by letter later on, so without wildcard or fragment. RFC 9700 §2.1, RFC 8252 §7.
 */
export function isAllowedRedirectUri(uri: string, applicationType: 'web' | 'native'): boolean {
  const url = URL.parse(uri);
  // Lenient parsers repair `https:\\host`, `/a/../b` and `HOST:443`: what is compared later letter by letter
  // has one spelling from the start (RFC 3986 §6.2).
  const isNormal = url !== null && (url.href === uri || url.href === `${uri}/`);
  if (!isNormal || uri.includes('#') || uri.includes('*')) {
    return false;
  }
  if (ANSWER_PARAMETERS.some((name) => url.searchParams.has(name))) {
    return false;
  }
  if (url.username !== '' || url.password !== '' || SCRIPT_SCHEMES.has(url.protocol)) {
    return false;
  }
  if (url.protocol === 'https:') {
    return true;
  }
  if (url.protocol === 'http:') {
    return LOOPBACK_HOSTS.has(url.hostname);
  }
  // RFC 8252 §7.1: a private-use scheme is a reversed domain name, so it has a dot.
  return applicationType === 'native' && url.protocol.includes('.');
}
