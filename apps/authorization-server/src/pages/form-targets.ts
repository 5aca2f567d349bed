/**
 * Where the redirects after a form may lead: the client's redirect URI, as `form-action` names it. An
 * app's own scheme has no origin and is named by the scheme.
 */
export function formTargets(redirectUri: unknown): readonly string[] {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  if (url === null) {
    return [];
  }
  // Browsers know no IPv6 address as a source: the scheme has to do.
  const hasOrigin = url.origin !== 'null' && !url.hostname.startsWith('[');
  return [hasOrigin ? url.origin : url.protocol];
}
